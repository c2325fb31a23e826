"""Golden entries of messages and boards, with the fixed parts that `golden` gives them."""

from sync.decide.board import key as key_of
from sync.log import facts as say
from sync.log.board_facts import Cell
from sync.log.entry import Entry, NodeKey, seal
from sync.log.kinds import EntryType
from sync.log.names import node_name

FLEET = bytes(range(16))
SALT = bytes(range(16))
AT = 1_800_000_000_000


def message(author: NodeKey, before: Entry, to: NodeKey) -> Entry:
    """Words from one agent to another, on another machine."""
    facts = say.MessageFacts(
        number=1,
        project="example.org/team/app",
        to=[say.Recipient(node=to.node_id, agent="codex")],
        agent="claude",
        session="s-1",
        reply_to=f"{node_name(to.node_id)}-m4",
        thread=f"{node_name(to.node_id)}-m3",
        at=AT,
    )
    return seal(
        author,
        fleet=FLEET,
        seq=3,
        prev=before.hash,
        hlc=(AT << 16) + 2,
        entry_type=EntryType.MESSAGE,
        facts=say.pack_facts(facts),
        text=say.pack_text(SALT, say.MessageText(body="The schema is merged.", subject="schema")),
    )


def receipt(author: NodeKey, of: NodeKey) -> Entry:
    """The other machine says that its agent has it."""
    facts = say.ReceiptFacts(
        status="handed",
        messages=[f"{node_name(of.node_id)}-m1"],
        agent="codex",
        session="s-7",
        at=AT,
    )
    return seal(
        author,
        fleet=FLEET,
        seq=1,
        prev=bytes(32),
        hlc=(AT << 16) + 3,
        entry_type=EntryType.RECEIPT,
        facts=say.pack_facts(facts),
        text=SALT + b"{}",
    )


def board(author: NodeKey, before: Entry) -> Entry:
    """A row of a board is set."""
    project, title, label = "example.org/team/app", "Release 4", "docs"
    facts = say.BoardFacts(
        board=key_of(project, title, fleet=FLEET),
        row=key_of(project, title, label, fleet=FLEET),
        project=project,
        fields=["status", "note"],
        agent="claude",
        session="s-1",
        at=AT,
    )
    cells = [Cell(field="status", value="partial"), Cell(field="note", value="two pages left")]
    return seal(
        author,
        fleet=FLEET,
        seq=4,
        prev=before.hash,
        hlc=(AT << 16) + 4,
        entry_type=EntryType.BOARD,
        facts=say.pack_facts(facts),
        text=say.pack_text(SALT, say.BoardText(title=title, label=label, cells=cells)),
    )
