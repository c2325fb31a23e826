// @ts-check
/**
 * The records of `web/rules_views.py` and `web/rules_messages.py` as the page receives them.
 *
 * @typedef {{line: number, reason: string, fix: string}} RuleProblem
 * @typedef {{ok: boolean, errors: RuleProblem[], notes: RuleProblem[], changes: string}} RulesChecked
 *
 * @typedef {object} RulesSibling
 * @property {string} id
 * @property {string} name
 * @property {string} version
 * @property {number} applied_at
 * @property {string} applied_by
 * @property {string} machine
 * @property {string} source
 *
 * @typedef {object} RulesVersion
 * @property {string} id
 * @property {string} version
 * @property {string} name
 * @property {number} applied_at
 * @property {string} applied_by
 * @property {string} machine
 * @property {boolean} in_force
 * @property {string[]} replaces
 * @property {number} added
 * @property {number} removed
 *
 * @typedef {{versions: RulesVersion[], more: boolean}} RulesHistory
 * @typedef {{version: RulesVersion, source: string, changes: string}} OneVersion
 *
 * @typedef {object} Proposal
 * @property {string} name
 * @property {string} rule
 * @property {string} source
 * @property {string | null} replaces
 * @property {string} changes
 * @property {number | null} until
 * @property {"allow" | "deny"} action
 * @property {string[]} notes
 * @property {boolean} may_apply
 */

export {};
