// @ts-check
import { button, make } from "./elements.js";

/** What to do on a node on which no agent has asked anything yet. */
export function emptyInbox() {
  return make(
    "section",
    { class: "empty", set: { "aria-label": "Getting started" } },
    make("h2", { text: "No agent has asked anything yet" }),
    make("p", { text: "Questions, approvals and results of your coding agents will appear here by themselves." }),
    make("h3", { text: "See it work in a minute" }),
    command("askmesh demo"),
    make("p", { class: "dim", text: "Raises a sample question and a sample approval for you to answer, then takes them away." }),
    make("h3", { text: "Connect Claude Code" }),
    command("askmesh agent install claude"),
    make("p", {
      class: "dim",
      text: "Adds the MCP server and the gate to Claude Code's settings, with a backup; --dry-run shows what would change. Sessions started afterwards can ask.",
    }),
    make("h3", { text: "Ask from any script" }),
    command("askmesh ask --kind question --title 'Deploy now?' --option yes --option no --wait 60s"),
  );
}

/** What stands where no ask is open. */
export function emptyDetail() {
  return make(
    "div",
    { class: "empty-detail" },
    make("p", { text: "Nothing needs you." }),
    make("p", { class: "dim" }, "Choose an ask on the left, or press ", make("kbd", { text: "?" }), " for the keys."),
  );
}

/** A line to be typed in a terminal, to copy. @param {string} text */
export function command(text) {
  const copy = button("Copy", "quiet", () => {
    void navigator.clipboard.writeText(text).then(
      () => (copy.textContent = "Copied"),
      () => (copy.textContent = "Select it by hand"),
    );
  });
  copy.setAttribute("aria-label", `Copy: ${text}`);
  return make("div", { class: "command" }, make("code", { text }), copy);
}
