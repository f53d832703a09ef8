"""The planner's questions as the computing process is asked them: a reason in place of an exception. No Panel here."""

from zoexplore.planning import Plan, Unreachable, calibrate, recommend
from zoexplore.setting import Accounting, Setting

Wanted = float | tuple[float, float]


def solved(setting: Setting, field: str, aim: str, wanted: Wanted, bound: str, accounting: Accounting) -> Setting | str:
    """`calibrate` for one of its aims, epsilon, advantage or tpr, with the reason in place of an exception."""
    try:
        return calibrate(setting, field, bound=bound, accounting=accounting, **{aim: wanted})  # type: ignore[arg-type]
    except (Unreachable, ValueError) as error:
        return str(error)


def recommended(setting: Setting, epsilon: float, bound: str, accounting: Accounting) -> Plan | str:
    """`recommend` for the data, loss and length of a setting, with the reason in place of an exception."""
    try:
        return recommend(setting.replace(batch=None), epsilon=epsilon, bound=bound, accounting=accounting)
    except (Unreachable, ValueError) as error:
        return str(error)
