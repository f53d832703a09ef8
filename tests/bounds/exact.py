"""The three conversions of docs/bounds.md, "From a budget to (ε, δ)", to any number of digits, written apart from the package."""

from mpmath import mp, mpf

DIGITS = 60


def delta_at(rho, epsilon):
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = sqrt(2 rho)."""
    with mp.workdps(DIGITS):
        rho, epsilon = mpf(rho), mpf(epsilon)
        mu = mp.sqrt(2 * rho)

        def upper(x):
            return mp.erfc(x / mp.sqrt(2)) / 2

        return upper(epsilon / mu - mu / 2) - mp.exp(epsilon) * upper(epsilon / mu + mu / 2)


def mironov(rho, delta):
    with mp.workdps(DIGITS):
        rho, delta = mpf(rho), mpf(delta)
        return rho + 2 * mp.sqrt(-rho * mp.log(delta))


def cks(rho, delta):
    """The least of alpha rho + [ln(1/delta) + (alpha-1) ln(1-1/alpha) - ln alpha]/(alpha-1) over real alpha > 1."""
    with mp.workdps(DIGITS):
        rho, delta = mpf(rho), mpf(delta)

        def cost(log_u):
            u = mp.exp(log_u)  # alpha - 1
            return (1 + u) * rho + (-mp.log(delta) - mp.log(1 + u)) / u + mp.log(u / (1 + u))

        low, high = mpf(-60), mpf(60)  # one minimum: bisect the sign of the slope, taken as a tiny difference
        h = mpf(10) ** -25
        for _ in range(90):
            middle = (low + high) / 2
            if cost(middle + h) > cost(middle - h):
                high = middle
            else:
                low = middle
        return max(mpf(0), cost((low + high) / 2))


def gaussian(rho, delta):
    """The epsilon at which delta_at(rho, epsilon) = delta, by bisection; 0 where delta is met there already."""
    with mp.workdps(DIGITS):
        if delta_at(rho, 0) <= delta:
            return mpf(0)
        low, high = mpf(0), mironov(rho, delta)
        for _ in range(140):
            middle = (low + high) / 2
            if delta_at(rho, middle) > delta:
                low = middle
            else:
                high = middle
        return high


EXACT = {"mironov": mironov, "cks": cks, "gaussian": gaussian}
