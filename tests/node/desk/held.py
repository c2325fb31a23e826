"""Words of an operator over real stores, and what a person is shown of them."""

from node.desk.standing import StandingDesk, banner
from sync.decide import word
from tests.node.desk.machines import Machine, viewer
from tests.sync.decide.accounts import private, public, raw_word
from web.account_views import BannerView, StandingView, WordTaken

PAY = "https://pay.example/x"


async def tell(
    machine: Machine, serial: int, level: str, person: str | None = None, **more: object
) -> WordTaken:
    """The operator's system brings a word to a machine."""
    raw = raw_word(serial, level, person, fleet=machine.identity.fleet.hex(), **more)
    signature = private("billing").sign(word.PREFIX + raw)
    return await StandingDesk(machine.context).standing_word(public("billing"), raw, signature)


async def shown(machine: Machine, person: str | None) -> BannerView | None:
    return await machine.reader.run(lambda connection: banner(connection, person))


async def view(machine: Machine, person: str) -> StandingView:
    return await StandingDesk(machine.context).standing(viewer(person))
