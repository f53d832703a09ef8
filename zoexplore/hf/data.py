"""Checks that a run's data are a data set of records, and says why if they are not."""

from collections.abc import Mapping, Sequence
from typing import Any

# the name of the labels, and the names that transformers' collators change to it
LABELS = ("labels", "label", "label_ids")


def check_data(dataset: Any, taken: Sequence[str] | None) -> None:
    """Raise ValueError if no step can be made on a data set; the message says why.

    Args:
        dataset: the training data given to `Trainer`.
        taken: the entries of a record that the model and its loss take; None if they take all.
    """
    if isinstance(dataset, Mapping):
        raise ValueError(
            f"data of the splits {', '.join(map(repr, dataset))} are not allowed: give one, train_dataset=data[...]"
        )
    if dataset is None or not hasattr(dataset, "__len__") or not len(dataset):
        raise ValueError(
            "a train_dataset without a length is not allowed: n, its number of records, is part of ε"
        )
    record = dataset[0]
    if not isinstance(record, Mapping):
        return
    for name in LABELS:
        if isinstance(text := record.get(name), str):
            raise ValueError(
                f"labels that are text ({text!r}) are not allowed: give numbers, data.class_encode_column({name!r})"
            )
    if taken is not None and not {*record} & {*taken} - {*LABELS}:
        raise ValueError(
            f"records with the entries {', '.join(map(repr, record))} are not allowed: the model takes none of them, but "
            f"{', '.join(map(repr, taken[:2]))} and so on; tokenise the data first, data.map(lambda r: tokenizer(r['text'])), or "
            "set remove_unused_columns=False if your loss takes others"
        )
