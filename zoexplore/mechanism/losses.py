"""The records' losses, for a module or a flat vector, at the parameters and as a function of them; and their slopes along
directions, by two-point quotients or derivatives in forward mode.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules import module as of_all
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from zoexplore.mechanism.batches import number_of, part
from zoexplore.mechanism.checksums import Changed, Fingerprint
from zoexplore.mechanism.directions import Dense, Frame, Hook, Perturbed
from zoexplore.mechanism.parameters import HALVES, Parameters

Loss = Callable[[Any, Any], Tensor]
LOSS_OF = ("outputs", "model")
LABELS = ("labels", "label", "targets", "target", "y")  # of a batch that is a dict
AT_ONCE = 2**23  # numbers that vmap may hold by itself where nobody said otherwise


def objective(parameters: nn.Module | Tensor, loss: Loss, loss_of: str, device: torch.device | str | None) -> "Objective":
    """The loss of a module or of a flat vector.

    Raises:
        ValueError: `loss_of` is unknown.
    """
    if loss_of not in LOSS_OF:
        raise ValueError(f"loss_of = {loss_of!r} is not allowed: give one of {', '.join(map(repr, LOSS_OF))}")
    if isinstance(parameters, nn.Module):
        return OfModule(parameters, loss, loss_of, device)
    return OfVector(parameters, loss, device)


class Objective:
    """A loss, and its modules: the trained one, and the loss itself or the one whose method it is.

    Attributes:
        trained: the trained tensors, in place, by name; `tensors` in order.
        plain: the trained module, without what torch.compile wraps it in; None where a vector is trained.
        layers: the same, where layers may be lent parameters; else None.
    """

    layers: nn.Module | None = None

    def __init__(self, loss: Loss, plain: nn.Module | None, trained: Mapping[str, Tensor]) -> None:
        self.loss, self.plain = loss, plain
        self.trained, self.tensors = dict(trained), list(trained.values())

    def losses(self, batch: Any) -> Tensor:
        """The records' losses, shape (b,), at the parameters as they stand."""
        raise NotImplementedError

    def losses_at(self, parts: list[Tensor], batch: Any) -> Tensor:
        """Compute the losses with other tensors in place of the trained ones."""
        raise NotImplementedError

    def check(self) -> None:
        """Raises ValueError where a part of the module mixes records, RuntimeError where its parameters are others by now."""

    def structure(self) -> tuple:
        """Identify everything that could make losses mix records: the loss, the module's parts, writes to buffers."""
        versions = tuple((id(b), _version(b)) for b in self.buffers().values())
        return id(self.loss), *(_structure(module) for module in self._modules().values()), versions

    def buffers(self) -> dict[str, Tensor]:
        """The modules' buffers, by name."""
        return {prefix + name: b for prefix, module in self._modules().items() for name, b in module.named_buffers()}

    def rest(self) -> dict[str, Tensor]:
        """Everything that is not trained: buffers, and parameters that are frozen or were added later."""
        named = {prefix + name: p for prefix, module in self._modules().items() for name, p in module.named_parameters()}
        trained = set(map(id, self.tensors))
        return {name: p for name, p in named.items() if id(p) not in trained} | self.buffers()

    def saved(self) -> set[str]:
        """The names in a `state_dict`."""
        return {prefix + name for prefix, module in self._modules().items() for name in module.state_dict()}

    def _modules(self) -> dict[str, nn.Module]:
        """The modules, by the prefix of their names."""
        holder = self.loss if isinstance(self.loss, nn.Module) else getattr(self.loss, "__self__", None)
        return {prefix: x for prefix, x in (("", self.plain), ("loss.", holder)) if isinstance(x, nn.Module)}


class OfVector(Objective):
    """A loss given as a function of a flat vector: `loss(w, batch)` returns the records' losses."""

    def __init__(self, start: Tensor, loss: Loss, device: torch.device | str | None) -> None:
        if start.dim() != 1:
            raise ValueError(f"parameters of shape {tuple(start.shape)} are not allowed: give one flat vector, or a module")
        super().__init__(loss, None, {"w": start.detach().to(device=device, copy=True)})

    def losses(self, batch: Any) -> Tensor:
        return self.loss(self.tensors[0], batch)

    def losses_at(self, parts: list[Tensor], batch: Any) -> Tensor:
        return self.loss(parts[0], batch)


class OfModule(Objective):
    """A module and a loss of its outputs, `loss(outputs, targets)`, or of itself, `loss(module, batch)`: the records' losses.

    With outputs a batch is `(inputs, targets)`, or a dict with an entry called label, labels, target, targets or y. Inputs that
    are a dict go to the module as keywords, a tuple or list as arguments. Only parameters with `requires_grad` are trained; the
    vector has them in the order of `named_parameters`, tied ones once.
    """

    plain: nn.Module

    def __init__(self, module: nn.Module, loss: Loss, loss_of: str, device: torch.device | str | None) -> None:
        if device is not None:
            module.to(device)
        self.module, self.loss_of = module, loss_of
        plain = getattr(module, "_orig_mod", module)
        super().__init__(loss, plain, {name: p for name, p in plain.named_parameters() if p.requires_grad})
        self.layers = plain if plain is module else None
        self.check()

    def losses(self, batch: Any) -> Tensor:
        return self._of(self.module, batch)

    def losses_at(self, parts: list[Tensor], batch: Any) -> Tensor:
        """Use plain attention: no other kernel supports forward derivatives or vmap."""
        changed = dict(zip(self.trained, parts, strict=True))

        def model(*args, **keywords):
            return functional_call(self.plain, changed, args, keywords)

        with sdpa_kernel(SDPBackend.MATH), _slow_path():
            return self._of(model, batch)

    def check(self) -> None:
        now = dict(self.plain.named_parameters())
        if any(now.get(name) is not p for name, p in self.trained.items()):
            raise RuntimeError("the module's parameters were replaced since the optimiser was made: change the module first")
        for name, layer in self.plain.named_modules():
            if isinstance(layer, _BatchNorm) and (layer.training or not layer.track_running_stats):
                raise ValueError(
                    f"{name or 'the module'} normalises over the batch and mixes records: use LayerNorm or GroupNorm, or eval()"
                )

    def _of(self, model: Callable[..., Any], batch: Any) -> Tensor:
        if self.loss_of == "model":
            return self.loss(model, batch)
        inputs, targets = _inputs_and_targets(batch)
        if isinstance(inputs, Mapping):
            return self.loss(model(**inputs), targets)
        return self.loss(model(*inputs) if isinstance(inputs, tuple | list) else model(inputs), targets)


class Losses:
    """The records' losses of a batch, some records at a time, under autocast if the user has switched it on around the step. The
    mechanism's own sums are not under it, and it keeps no copy of a weight, since weights move between two losses.

    Args:
        objective: whose.
        microbatch: how many records are evaluated at once.
        fingerprint: of the model.
        device: of the parameters.

    Attributes:
        autocast: whether it is on.

    Raises:
        ValueError: they are not one a record.
        Changed: computing them changed trained tensors.
    """

    def __init__(self, objective: Objective, microbatch: int, fingerprint: Fingerprint, device: torch.device) -> None:
        self.objective, self.microbatch, self.fingerprint, self._type = objective, microbatch, fingerprint, device.type
        self.autocast, self._kind = torch.is_autocast_enabled(device.type), torch.get_autocast_dtype(device.type)

    def without_autocast(self) -> AbstractContextManager:
        return torch.autocast(self._type, enabled=False)

    def parts(self, batch: Any) -> Iterator[Any]:
        b = number_of(batch)
        return (part(batch, slice(i, i + self.microbatch)) for i in range(0, b, self.microbatch))

    def here(self, batch: Any) -> Tensor:
        """Compute the losses at the current parameters."""
        return torch.cat([self._checked(self.objective.losses, piece) for piece in self.parts(batch)])

    def at(self, parts: list[Tensor], piece: Any) -> Tensor:
        """Compute the losses of some records with other tensors in place of the trained ones."""
        return self._checked(lambda piece: self.objective.losses_at(parts, piece), piece)

    def least_precise(self, parameters: Parameters) -> torch.dtype:
        """The least precise kind that a loss is computed in."""
        kinds = {t.dtype for t in parameters.tensors} | ({self._kind} if self.autocast else set())
        return max(kinds, key=lambda kind: torch.finfo(kind).eps)

    def use_halves(self, batch: Any) -> bool:
        """Whether a record's loss is computed in half precision somewhere, by the module itself, say."""
        with _Kinds() as seen:
            self.here(part(batch, slice(0, 1)))
        return not seen.kinds.isdisjoint(HALVES)

    def _checked(self, losses: Callable[[Any], Tensor], piece: Any) -> Tensor:
        before = self.fingerprint.versions()
        try:
            with torch.autocast(self._type, dtype=self._kind, enabled=self.autocast, cache_enabled=False):
                found = losses(piece)
        finally:  # a loss that fails may have moved them before
            if self.fingerprint.versions() != before:
                raise Changed("the loss, or the module, moved its own parameters while losses were computed")
        if not isinstance(found, Tensor) or found.shape != (number_of(piece),):
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(
                f"losses of shape {shape} are not allowed: give one loss a record, shape ({number_of(piece)},), as torch's "
                "losses do with reduction='none'"
            )
        return found


class _Kinds(TorchDispatchMode):
    """The kinds of all numbers that are computed while it is on."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: set[torch.dtype] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = operation(*args, **(kwargs or {}))
        self.kinds |= {x.dtype for x in tree_leaves(found) if isinstance(x, Tensor)}
        return found


def _structure(module: nn.Module) -> tuple:
    """Identify a module's parts, their switches and hooks, and the hooks of all modules."""
    hooks = (*of_all._global_forward_pre_hooks, *of_all._global_forward_hooks)
    return hooks, *(
        (id(m), type(m), *_switches(m), *_hooks(m._forward_pre_hooks), *_hooks(m._forward_hooks)) for m in module.modules()
    )


def _hooks(of_part: Mapping[int, Any]) -> Iterator[int]:
    """Numbers of hooks, without the mechanism's own."""
    return (number for number, hook in of_part.items() if not isinstance(hook, Hook))


def _switches(part: nn.Module) -> Iterator[tuple]:
    """Attributes that are on or off, a word or a function: `training`, another `forward`, an activation."""
    for name, x in vars(part).items():
        if isinstance(x, bool | str) or callable(x):
            yield name, x if isinstance(x, bool | str) else id(x)


def _version(buffer: Tensor) -> int:
    """Torch's count of writes; -1 for inference tensors, where it does not count."""
    return -1 if buffer.is_inference() else buffer._version


def _inputs_and_targets(batch: Any) -> tuple[Any, Any]:
    """Raises ValueError where a dict has no entry, or several, that is called as targets are."""
    if not isinstance(batch, Mapping):
        inputs, targets = batch
        return inputs, targets
    found = [name for name in LABELS if name in batch]
    if len(found) != 1:
        raise ValueError(
            f"a batch with the entries {', '.join(map(repr, batch))} is not allowed: name one of them "
            f"{', '.join(map(repr, LABELS))}, or take loss_of='model' and a loss of (model, batch)"
        )
    return {name: x for name, x in batch.items() if name != found[0]}, batch[found[0]]


@contextmanager
def _slow_path():
    """Switch off the fused encoder layers that torch uses in eval()."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


class Slopes(NamedTuple):
    """Slopes along the directions, shape (b, K), float64, 0 where one was not finite; how many were not; the mean loss."""

    values: Tensor
    not_finite: int
    loss: float


def measure(
    losses: Losses,
    parameters: Parameters,
    frame: Frame,
    perturbed: Perturbed,
    batch: Any,
    xi: float,
    chunk_size: int | None,
) -> Slopes:
    """All slopes of a step. After two points the parameters may still be away from w, until `perturbed` brings them back.

    Args:
        perturbed: what moves the parameters, or lends them to layers, where losses are not evaluated as functions.
        xi: perturbation scale; 0 for the directional derivative.
        chunk_size: directions evaluated at once, by vmap, where the frame is dense; one after the other where None.
    """
    if xi > 0 and (chunk_size is None or not isinstance(frame, Dense)):
        slopes, values = _two_points(losses, frame, perturbed, batch, xi)
    else:
        slopes, values = _of_function(losses, parameters, frame, batch, xi, chunk_size or 1)
    finite = slopes.isfinite()
    resolved = frame.resolve(slopes.where(finite, 0.0))
    sums = resolved.isfinite()  # what is not, no clip would shorten
    found = torch.cat([x.flatten() for x in values]).double()
    loss = float(found[found.isfinite()].mean())
    return Slopes(resolved.where(sums, 0.0), int((~finite).sum()) + int((~sums).sum()), loss)


def slope(losses: Callable[[Any], Tensor], w: Any, u: Any, xi: float) -> tuple[Tensor, Tensor]:
    """The quotients (l_i(w + xi u) - l_i(w - xi u))/(2 xi), shape (b,), or, where xi = 0, their limit <grad l_i(w), u> in forward
    mode, nan where the loss is not finite; and the losses, of which the first are two each.

    Losses close to each other are subtracted, so that their rounding error comes back divided by xi.

    Args:
        losses: the records' losses, shape (b,), of parameters w: a tensor, or any tree of them.
        u: a direction, in tensors shaped like w's.
    """
    if xi > 0:
        ahead, behind = (losses(tree_map(lambda x, y, s=s: x + s * y, w, u)) for s in (xi, -xi))
        return quotient(ahead, behind, xi), torch.stack([ahead, behind])
    values, slopes = cast(tuple[Tensor, Tensor], jvp(losses, (w,), (u,)))
    return slopes.where(values.isfinite(), torch.nan), values


def two_point(losses: Callable[[Tensor], Tensor], w: Tensor, U: Tensor, xi: float, chunk_size: int | None = None) -> Tensor:
    """The `slope` of records along each column of U, shape (b, K).

    Args:
        losses: the records' losses at a flat parameter vector.
        w: shape (d,).
        U: directions, shape (d, K).
        xi: perturbation scale; 0 for the derivative.
        chunk_size: directions evaluated at once; all where None. Memory grows with it.
    """
    return vmap(lambda u: slope(losses, w, u, xi)[0], in_dims=1, out_dims=1, chunk_size=chunk_size)(U)


def quotient(ahead: Tensor, behind: Tensor, xi: float) -> Tensor:
    """The difference of two losses over the distance between their points, at least in single precision."""
    kind = torch.promote_types(ahead.dtype, torch.float32)
    return (ahead.to(kind) - behind.to(kind)) / (2 * xi)


def made_of(losses: Losses, parameters: Parameters, frame: Frame, xi: float) -> dict[str, Callable[[Any], Tensor]]:
    """Every record's values in a step, shape (b,), at the parameters: its loss and, where xi is 0, its derivative along a
    direction, which may mix records where losses do not (`x - x.detach()`).
    """
    if xi > 0:
        return {"loss": losses.here}
    along = frame.probe(0).unsqueeze(1)
    return {"loss": losses.here, "derivative": lambda batch: _along(losses, parameters, along, batch, 0.0)[0].squeeze(1)}


def _two_points(losses: Losses, frame: Frame, perturbed: Perturbed, batch: Any, xi: float) -> tuple[Tensor, list[Tensor]]:
    columns, values = [], []
    for k in range(frame.K):
        perturbed.to(k, xi)
        ahead = losses.here(batch)
        perturbed.to(k, -xi)
        behind = losses.here(batch)
        columns.append(quotient(ahead, behind, xi).double())
        values += [ahead, behind]
    return torch.stack(columns, 1), values


def _of_function(
    losses: Losses, parameters: Parameters, frame: Frame, batch: Any, xi: float, chunk: int
) -> tuple[Tensor, list[Tensor]]:
    chunks = (range(k, min(k + chunk, frame.K)) for k in range(0, frame.K, chunk))
    found = [_along(losses, parameters, torch.stack([frame.probe(k) for k in ks], 1), batch, xi) for ks in chunks]
    return torch.cat([slopes for slopes, _ in found], 1), [values for _, values in found]


def _along(losses: Losses, parameters: Parameters, U: Tensor, batch: Any, xi: float) -> tuple[Tensor, Tensor]:
    """Slopes along the columns of U, shape (b, K), float64, all evaluated at once, of the losses as functions; and the losses."""
    w, found = [t.detach() for t in parameters.tensors], []
    for piece in losses.parts(batch):

        def of(u: Tensor, piece: Any = piece) -> tuple[Tensor, Tensor]:
            parts = [x.to(t.dtype) for x, t in zip(parameters.parts(u), w, strict=True)]
            return slope(lambda parts: losses.at(parts, piece), w, parts, xi)

        with _forward_mode():
            one = U.shape[1] == 1  # what vmap does not know, one direction can have
            slopes, values = of(U[:, 0]) if one else vmap(of, in_dims=1)(U)
            found.append((slopes.unsqueeze(1) if one else slopes.mT, values.flatten()))
    return torch.cat([x for x, _ in found]).double(), torch.cat([x for _, x in found])


@contextmanager
def _forward_mode() -> Iterator[None]:
    """Raises ValueError in place of torch's own error where an operation has no derivative in forward mode."""
    try:
        yield
    except NotImplementedError as missing:
        found = re.search(r"forward AD with (\S+)", str(missing))
        raise ValueError(
            f"xi = 0 is not allowed here: torch has no forward-mode derivative of {found[1] if found else 'some operation'}; "
            "give the setting an xi above 0, for two points a direction, which any operation takes"
        ) from missing
