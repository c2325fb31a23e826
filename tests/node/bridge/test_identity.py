"""Who asks, as Git's files and named variables tell it."""

import os
import subprocess
from pathlib import Path

import pytest

from node.bridge.identity import (
    agent_of,
    branch_of,
    canonical_remote,
    hello,
    process_name,
    project_of,
    who,
)


def git(folder: Path, *words: str) -> None:
    """Run Git as it is on a fresh machine: no settings of whoever runs the tests."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, env=environment
    )


def test_a_folder_outside_utf_8_is_told_in_text_that_can_be_sent(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/d\xff")
    Path(folder).mkdir()
    for told in (who({}, folder), hello({}, folder, agent=None)):
        assert told["cwd"] == rf"{tmp_path}/d\xff"
        assert told["project"] == rf"path:{tmp_path}/d\xff"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "-b", "trunk")
    git(top, "commit", "--allow-empty", "-m", "begin")
    return top


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/owner/repo.git",
        "https://git.example.org/owner/repo",
        "https://GIT.Example.org/owner/repo/",
        "https://user:secret@git.example.org/owner/repo.git",
        "https://git.example.org:8443/owner/repo.git",
        "ssh://git@git.example.org:22/owner/repo.git",
        "git@git.example.org:owner/repo.git",
        "git.example.org:owner/repo",
        "git://git.example.org/owner/repo",
    ],
)
def test_every_way_to_reach_a_repository_gives_one_id(url: str) -> None:
    assert canonical_remote(url) == "git.example.org/owner/repo"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("/srv/git/repo.git", None),
        ("../repo", None),
        ("file:///srv/git/repo.git", None),
        ("", None),
        ("https://git.example.org/", None),
        ("https://git.example.org/a/b/c.git", "git.example.org/a/b/c"),
        ("https://[::1]:8443/o/r.git", "[::1]/o/r"),
        ("https://git.example.org/Owner/Repo", "git.example.org/Owner/Repo"),
    ],
)
def test_a_path_has_no_canonical_id_and_case_counts_after_the_host(
    url: str, found: str | None
) -> None:
    assert canonical_remote(url) == found


def test_a_remote_makes_the_project_in_every_folder_of_the_tree(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "git@git.example.org:owner/repo.git")
    git(repository, "remote", "add", "fork", "git@git.example.org:other/repo.git")
    inside = repository / "a" / "b"
    inside.mkdir(parents=True)
    assert project_of(str(inside)) == "git.example.org/owner/repo"


def test_a_linked_working_tree_is_the_same_project_on_its_own_branch(repository: Path) -> None:
    linked = repository.parent / "linked"
    git(repository, "worktree", "add", "-b", "feature/x", str(linked))
    assert project_of(str(linked)) == project_of(str(repository)) == f"path:{repository}"
    git(repository, "remote", "add", "origin", "https://git.example.org/owner/repo")
    assert project_of(str(linked)) == project_of(str(repository)) == "git.example.org/owner/repo"
    assert (branch_of(str(repository)), branch_of(str(linked))) == ("trunk", "feature/x")


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    link = tmp_path / "link"
    (tmp_path / "plain").mkdir()
    link.symlink_to(tmp_path / "plain")
    assert project_of(str(link)) == f"path:{tmp_path / 'plain'}"
    assert branch_of(str(link)) is None


def test_an_empty_git_folder_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # a sandbox's mount target, as Codex leaves them
    (tmp_path / "project").mkdir()
    assert project_of(str(tmp_path / "project")) == f"path:{tmp_path / 'project'}"
    assert branch_of(str(tmp_path / "project")) is None


def test_a_detached_head_is_no_branch(repository: Path) -> None:
    git(repository, "checkout", "--detach")
    assert branch_of(str(repository)) is None


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\x00", b'[remote "origin"\nurl', b"url = x\n[remote]\n", b""]
)
def test_a_broken_configuration_is_no_remote(repository: Path, text: bytes) -> None:
    (repository / ".git" / "config").write_bytes(text)
    assert project_of(str(repository)) == f"path:{repository}"


def test_a_deleted_folder_still_has_a_name(tmp_path: Path) -> None:
    assert project_of(str(tmp_path / "gone")) == f"path:{tmp_path / 'gone'}"


@pytest.mark.parametrize(
    ("environment", "agent", "session"),
    [
        ({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "c-1"}, "claude", "c-1"),
        ({"COPILOT_AGENT_SESSION_ID": "p-1"}, "copilot", "p-1"),
        ({"ASKMESH_AGENT": "bot", "ASKMESH_SESSION": "s"}, "bot", "s"),
        # Gemini started by Claude: it inherits the session of an agent that it is not.
        ({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "c-1", "GEMINI_CLI": "1"}, "gemini", None),
        ({}, "shell", None),
    ],
)
def test_a_shell_asks_as_the_agent_that_runs_it(
    environment: dict[str, str], agent: str, session: str | None
) -> None:
    asker = who(environment, "/")
    assert asker["agent"] == agent
    assert asker["session"] == session or (session is None and f"{agent}-" in str(asker["session"]))


def test_two_commands_of_one_terminal_are_one_session() -> None:
    assert who({}, "/")["session"] == who({}, "/")["session"]
    assert process_name("shell", os.getpid()) != process_name("shell", os.getppid())


def test_an_override_of_the_project_wins() -> None:
    assert who({"ASKMESH_PROJECT": "p"}, "/")["project"] == "p"
    assert hello({"ASKMESH_PROJECT": "p"}, "/", agent=None)["project"] == "p"


def test_the_bridge_reports_the_project_of_the_session_not_of_its_folder(repository: Path) -> None:
    line = hello({"CLAUDE_PROJECT_DIR": str(repository)}, "/", agent=None)
    assert (line["project"], line["branch"], line["cwd"]) == (f"path:{repository}", "trunk", "/")


def test_nothing_but_named_variables_leaves_the_environment() -> None:
    environment = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "c-1",
        "CLAUDE_CODE_MESSAGING_TOKEN": "secret-token",
        "ASKMESH_SECRET": "secret-token",
        "ANTHROPIC_API_KEY": "secret-token",
    }
    assert "secret-token" not in str(hello(environment, "/", agent=None))
    assert "secret-token" not in str(who(environment, "/"))
    assert agent_of(environment) == "claude"
