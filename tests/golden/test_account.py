"""The account itself finds what is left out."""


def test_account_names_what_is_left_out(account):
    document = {"a": {"x": 1, "y": [{"z": 2}, {"z": 3}]}, "b": [1, 2]}
    fine = {"a.x": "golden/test_account.py::test_account_names_what_is_left_out"}
    assert account(document, fine, {"a.y": "belongs to others", "b": "belongs to others"}) == []
    assert account(document, fine, {"a.y": "belongs to others"}) == ["in no list: b"]
    assert account(document, fine, {"a.y[].z": "too short", "b": "belongs to others"}) == [
        "without a reason: a.y[].z"
    ]
    assert account(document, {"a": "golden/test_account.py::no_such"}, {"b": "belongs to others"}) == [
        "no such test: golden/test_account.py::no_such of a"
    ]
    assert "not in the file: c" in account(document, {}, {"a": "belongs to others", "c": "belongs to others"})
    assert "in no list: a.xy" in account({"a": {"x": 1, "xy": 2}}, {}, {"a.x": "belongs to others"})


def test_every_number_of_a_mixed_list_is_seen(account):
    assert account({"a": [1, {"b": 2}]}, {}, {}) == ["in no list: a[]", "in no list: a[].b"]
