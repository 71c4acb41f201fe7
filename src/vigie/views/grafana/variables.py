"""What a reader may choose, as Grafana's template variables."""

from __future__ import annotations

from typing import Any

from vigie.model.dashboard import Variable
from vigie.views.grafana.panels import SOURCE

Json = dict[str, Any]
ALL = {"selected": True, "text": ["All"], "value": ["$__all"]}
WHEN_THE_TIME_CHANGES, NATURAL_ORDER = 2, 7


def data_source_variable(name: str, uid: str) -> Json:
    """Return the choice of the data source, which every question names."""
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"selected": True, "text": name, "value": uid},
        "hide": 0,
        "multi": False,
        "includeAll": False,
    }


def pick_variable(variable: Variable) -> Json:
    common: Json = {"name": variable.name, "label": variable.label, "multi": variable.multi}
    common["includeAll"] = variable.multi
    if variable.multi:
        common["allValue"] = variable.match_all
    return common | (_custom_variable(variable) if variable.choices else _query_variable(variable))


def label_query(variable: Variable) -> str:
    """Return what Grafana asks for the values."""
    return f"label_values({variable.metric}, {variable.by})"


def _query_variable(variable: Variable) -> Json:
    made: Json = {
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": label_query(variable), "refId": "StandardVariableQuery", "qryType": 1},
        "refresh": WHEN_THE_TIME_CHANGES,
        "sort": NATURAL_ORDER,
    }
    made["query"] |= {"metric": variable.metric, "label": variable.by}
    if variable.default:
        made["current"] = _one(variable.default)
    elif variable.multi:
        made["current"] = ALL
    return made


def _custom_variable(variable: Variable) -> Json:
    first = variable.default or variable.choices[0]
    options = [_one(choice) | {"selected": choice == first} for choice in variable.choices]
    return {
        "type": "custom",
        "query": ",".join(variable.choices),
        "options": options,
        "current": ALL if variable.multi and not variable.default else _one(first),
    }


def _one(value: str) -> Json:
    return {"selected": True, "text": value, "value": value}
