// @ts-check
/** @import * as T from "./types.js" */
/**
 * The records of `web/people_views.py` and `web/account_views.py` as the page receives them.
 *
 * @typedef {object} PersonRow
 * @property {string} id
 * @property {string} name
 * @property {string} role
 * @property {boolean} you
 * @property {boolean} ended
 * @property {boolean} split
 * @property {T.MachineView[]} machines
 * @property {string[]} roles   what the viewer may make of them
 * @property {boolean} removable
 * @property {boolean} last_owner
 * @property {number | null} places   where they are signed in on this machine
 * @property {number | null} used
 *
 * @typedef {object} ConsentRow
 * @property {T.MachineView} machine
 * @property {string} person
 * @property {string} name
 * @property {string} by
 * @property {number} at
 * @property {boolean} yours
 *
 * @typedef {{id: string, name: string, role: string, by: string, expires: number}} InvitationRow
 *
 * @typedef {object} PeopleView
 * @property {PersonRow[]} people
 * @property {ConsentRow[]} consents
 * @property {InvitationRow[]} invitations
 * @property {string[]} may_invite
 * @property {boolean} owner
 *
 * @typedef {object} InvitedView
 * @property {"here" | "machine"} where
 * @property {string} name
 * @property {string} role
 * @property {string | null} id
 * @property {string | null} code
 * @property {number | null} expires
 * @property {string} sentence
 * @property {T.PairingView | null} pairing
 *
 * @typedef {"active" | "grace" | "on_hold" | "suspended"} Standing
 *
 * @typedef {object} AccountView
 * @property {string | null} person   null: the whole fleet's
 * @property {string | null} name
 * @property {Standing} standing
 * @property {string} said_by
 * @property {string | null} operator
 * @property {boolean} counts
 * @property {string | null} reason
 * @property {string | null} remedy
 * @property {number} serial
 * @property {number} at
 *
 * @typedef {{id: string, name: string, live: boolean, by: string, at: number}} OperatorView
 * @typedef {{id: string, name: string}} NamedPerson
 *
 * @typedef {object} StandingView
 * @property {string} fleet
 * @property {string} me
 * @property {T.BannerView | null} banner
 * @property {AccountView[]} accounts
 * @property {OperatorView[]} operators
 * @property {NamedPerson[]} persons
 */

export {};
