import pytest
import torch
from tests.learn.sequencing.planted import ceiling, plant_manuals

from proctor.errors import UserError
from proctor.learn.sequencing.data import Parts, presented
from proctor.learn.sequencing.encoders import open_encoder
from proctor.learn.sequencing.finetune import BersonModel, train_berson
from proctor.learn.sequencing.training import Training
from proctor.learn.settings import TrainOptions
from proctor.metrics.ordering import measure_orders
from proctor.procedure.manual import Sequence, SequenceStep


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("text", (0.6, 0.25, 4, 3, 0.8, 2)),
        ("image", (0.6, 1 / 6, 4, 7 / 3, 0.7, 8 / 3)),
        ("both", (1, 1, 5, 5, 1, 0)),
    ],
)
def test_ceilings_are_those_of_the_specification(shown, expected):
    assert list(ceiling(shown).values()) == pytest.approx(expected)


def test_of_modalities_that_tell_nothing_chance_is_the_ceiling():
    assert ceiling("text", "image")["kendall_tau"] == pytest.approx(0)
    assert ceiling("image", "text")["perfect_match_ratio"] == pytest.approx(1 / 6)
    assert ceiling("both", "image")["kendall_tau"] == ceiling("text", "text")["kendall_tau"] == 1


def test_text_alone_fails_where_pictures_tell_the_order_and_both_together_do_not(tmp_path):
    parts = plant_manuals(tmp_path, (96, 6, 40), order_in="image")
    tau = {}
    for shown, epochs in (("text", 1), ("both", 7)):
        training = Training(
            parts=parts, root=tmp_path, shown=shown, options=TrainOptions(epochs=epochs, batch=8, lr=2e-3)
        )
        trained = train_berson(training)
        test = presented(parts.test, shown)
        found = trained.model.predict(test)
        tau[shown] = measure_orders([p.targets for p in test], [o.order for o in found]).means()[
            "kendall_tau"
        ]
        trained.model.save(tmp_path / shown)
        again = BersonModel.load(tmp_path / shown, tmp_path).predict(test)
        assert [o.order for o in again] == [o.order for o in found]
        for one, other in zip(again, found, strict=True):
            assert (one.precedence == other.precedence).all()
            assert one.precedence + one.precedence.T == pytest.approx(1)
    assert abs(tau["text"]) < 0.35  # 4 standard errors of orders by chance
    assert tau["both"] > 0.7


def sequence(id_, *texts):
    return Sequence(id_, "", tuple(SequenceStep(str(n), text) for n, text in enumerate(texts)))


def test_one_step_equal_steps_many_steps_and_damaged_files(tmp_path):
    encoder = open_encoder("tiny", "text", ["cut", "cut"])
    BersonModel(encoder, "text").save(tmp_path)
    model = BersonModel.load(tmp_path)
    asked = [sequence("one", "cut"), sequence("equal", "", "", ""), sequence("many", *(["cut"] * 30))]
    one, equal, many = model.predict(presented(asked, "text"))
    assert (one.order, one.precedence.tolist()) == ((0,), [[0.5]])
    assert equal.order == (0, 1, 2)  # as presented
    assert sorted(many.order) == list(range(30))
    assert model.predict([]) == []
    with pytest.raises(UserError, match="no sequence of two steps"):
        train_berson(Training(parts=Parts((asked[1],), (asked[0],), ()), root=tmp_path))
    (tmp_path / "model.json").write_text('{"model": "berson"}')
    with pytest.raises(UserError, match=r"model\.json"):
        BersonModel.load(tmp_path)
