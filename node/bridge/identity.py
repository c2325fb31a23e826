"""Who asks: agent, session, project and branch, read from named variables and from Git's files.

No subprocess, and never the environment as a whole: hosts keep credentials in it.
"""

import os
import re
from collections.abc import Mapping
from typing import Final

CONFIG_BYTES: Final = 256 * 1024
"""Of a Git configuration; its remotes stand in the first lines."""

SESSION_VARIABLES: Final = {
    "claude": "CLAUDE_CODE_SESSION_ID",
    "copilot": "COPILOT_AGENT_SESSION_ID",
}
"""A nested agent inherits them, so each is taken only for the agent it belongs to."""

AGENT_VARIABLES: Final = (
    ("GEMINI_CLI", "gemini"),
    ("COPILOT_AGENT_SESSION_ID", "copilot"),
    ("CLAUDECODE", "claude"),
)
"""The variable by which a host shows itself to what it starts."""

SECTION = re.compile(r'\s*\[\s*([^\s"\]]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
SCP_FORM = re.compile(r"(?:[^@/\s]+@)?([^:/\s]+):(?!/)(.+)")
URL_FORM = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^@/]*@)?(\[[^\]]+\]|[^/:]*)(?::\d+)?/(.+)")


def who(
    environment: Mapping[str, str], cwd: str, *, agent: str | None = None, client: str | None = None
) -> dict[str, str | None]:
    """The `who` of a request from a shell or script: as the variables say, else by the terminal."""
    name = agent or environment.get("ASKMESH_AGENT") or agent_of(environment) or "shell"
    session = environment.get("ASKMESH_SESSION") or environment.get(SESSION_VARIABLES.get(name, ""))
    return {
        "agent": name,
        "session": session or process_name(name, os.getsid(0)),
        "project": sendable(environment.get("ASKMESH_PROJECT") or project_of(cwd)),
        "cwd": sendable(cwd),
        "branch": branch_of(cwd),
        "client": client,
    }


def hello(environment: Mapping[str, str], cwd: str, *, agent: str | None) -> dict[str, object]:
    """The bridge's first line: what it can tell of its host. Overrides are marked by name."""
    folder = environment.get("CLAUDE_PROJECT_DIR") or cwd
    return {
        "askmesh": 1,
        "agent": agent or environment.get("ASKMESH_AGENT"),
        "session": environment.get("ASKMESH_SESSION"),
        "environment_agent": agent_of(environment),
        "environment_sessions": {
            name: environment[variable]
            for name, variable in SESSION_VARIABLES.items()
            if environment.get(variable)
        },
        "process": process_name("mcp", os.getppid()),
        "project": sendable(environment.get("ASKMESH_PROJECT") or project_of(folder)),
        "cwd": sendable(cwd),
        "branch": branch_of(folder),
    }


def sendable(name: str) -> str:
    r"""A path or name of the system as text that JSON can carry; bytes outside UTF-8 as `\xff`."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def agent_of(environment: Mapping[str, str]) -> str | None:
    """The agent whose mark the environment carries, if any."""
    return next((name for variable, name in AGENT_VARIABLES if environment.get(variable)), None)


def process_name(kind: str, pid: int) -> str:
    """A name for a process that no later process shares: its id and when it began."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            began = file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        began = "0"
    return f"{kind}-{pid}-{began}"


def project_of(folder: str) -> str:
    """The repository's canonical id, `path:<top folder>` without a remote, else the folder."""
    top, git = repository(folder)
    if git:
        remote = origin(git)
        canonical = canonical_remote(remote) if remote else None
        if canonical:
            return canonical
        common = os.path.realpath(
            os.path.join(git, read_text(os.path.join(git, "commondir")).strip())
        )
        if os.path.basename(common) == ".git":
            top = os.path.dirname(common)
    return f"path:{os.path.realpath(top or folder)}"


def branch_of(folder: str) -> str | None:
    """The branch checked out in the repository of this folder; None when there is none."""
    git = repository(folder)[1]
    head = read_text(os.path.join(git, "HEAD")).strip() if git else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None


def repository(folder: str) -> tuple[str | None, str | None]:
    """The top folder of the working tree around this folder, and its Git directory."""
    here = os.path.realpath(folder)
    while True:
        mark = os.path.join(here, ".git")
        # An empty `.git` is none, as for Git: sandboxes leave such folders behind.
        if os.path.isdir(mark) and os.path.lexists(os.path.join(mark, "HEAD")):
            return here, mark
        if os.path.isfile(mark):
            pointer = read_text(mark).strip()
            if pointer.startswith("gitdir:"):
                return here, os.path.join(here, pointer.removeprefix("gitdir:").strip())
        above = os.path.dirname(here)
        if above == here:
            return None, None
        here = above


def common_directory(git: str) -> str:
    """The directory that all working trees of a repository share."""
    shared = read_text(os.path.join(git, "commondir")).strip()
    return os.path.realpath(os.path.join(git, shared))


def origin(git: str) -> str | None:
    """The URL of remote `origin`."""
    config = read_text(os.path.join(common_directory(git), "config"))
    inside = False
    for line in config.splitlines():
        section = SECTION.match(line)
        if section:
            inside = section[1].lower() == "remote" and section[2] == "origin"
            line = line[section.end() :]  # noqa: PLW2901 - a variable may follow its section
        name, _, value = line.partition("=")
        if inside and name.strip().lower() == "url":
            return value.strip().strip('"')
    return None


def canonical_remote(url: str) -> str | None:
    """`host/owner/repo` of a remote's URL, the same for each way to reach it; None for a path."""
    found = URL_FORM.fullmatch(url)
    if found is None and "://" not in url:
        found = SCP_FORM.fullmatch(url)
    if found is None or not found[1]:
        return None
    path = found[2].strip("/").removesuffix(".git").strip("/")
    return f"{found[1].lower()}/{path}" if path else None


def read_text(path: str) -> str:
    """The beginning of a text file; empty when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(CONFIG_BYTES)
    except (OSError, ValueError):
        return ""
