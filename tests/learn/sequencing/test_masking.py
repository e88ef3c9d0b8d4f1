import numpy as np
import pytest
import torch

from proctor.errors import UserError
from proctor.learn.sequencing.masking import mask_patches, mask_words, swap

MANY = 400
GROUPS = torch.arange(2 * MANY).view(MANY, 2)
ALL = torch.ones(2 * MANY, dtype=torch.bool)


class Words:
    """0 to 3 are special."""

    size, pad, cls, sep, mask, identity = 40, 0, 1, 2, 3, "made"

    def is_special(self, tokens):
        return tokens < 4


def rng(seed=0):
    return np.random.default_rng(seed)


def texts(*lengths):
    rows = torch.zeros(len(lengths), max(lengths) + 2, dtype=torch.long)
    drawn = torch.from_numpy(rng(5).integers(4, 40, size=rows.shape))
    for row, length in enumerate(lengths):
        rows[row, 0], rows[row, 1 + length] = 1, 2
        rows[row, 1 : 1 + length] = drawn[row, :length]
    return rows


def test_as_many_words_in_each_step_of_a_group_and_no_special_one():
    tokens = texts(20, 40, 3, 30, 0, 12)
    seen, chosen = mask_words(tokens, torch.arange(6).view(3, 2), Words(), rng())
    assert chosen.sum(1).tolist() == [3, 3, 1, 1, 0, 2]  # a step without words does not count
    assert not (chosen & (tokens < 4)).any()
    assert (seen[~chosen] == tokens[~chosen]).all()


def test_of_chosen_words_four_fifths_are_masked_a_tenth_another_a_tenth_as_they_were():
    tokens = texts(*[40] * 800)
    seen, chosen = mask_words(tokens, GROUPS, Words(), rng())
    before, after = tokens[chosen], seen[chosen]
    assert len(before) == 800 * 6
    assert float((after == 3).double().mean()) == pytest.approx(0.8, abs=0.02)
    assert float((after == before).double().mean()) == pytest.approx(0.1 + 0.1 / 36, abs=0.015)
    assert after.min() >= 3  # another word is never a special one


def test_the_released_code_masks_each_word_for_itself():
    tokens = texts(*[40] * 800)
    _, chosen = mask_words(tokens, GROUPS, Words(), rng(), protocol="code")
    assert float(chosen.sum()) / (800 * 40) == pytest.approx(0.1, abs=0.006)
    assert len(set(chosen.sum(1).tolist())) > 3


def pictures(patches=6):
    """The number of the patch in the batch, so that every patch is known again."""
    return torch.arange(2 * MANY * patches, dtype=torch.float32).view(2 * MANY, patches, 1)


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_exchanged_stays_in_its_group_and_the_label_says_so(whole):
    images = pictures()
    found = swap(images, ALL, GROUPS, rng(), whole=whole)
    for group, rows in enumerate(GROUPS):
        before, after = images[rows], found.images[rows]
        assert before.flatten().tolist() == sorted(after.flatten().tolist())
        assert bool(found.in_order[group]) == torch.equal(before, after)
    assert float(found.in_order.double().mean()) == pytest.approx(0.5, abs=0.08)
    assert found.asked.all()


def test_patches_are_exchanged_one_to_all_of_them_and_none_in_the_released_code():
    images = pictures()
    for protocol, fewest, most in (("right", 1, 6), ("paper", 1, 6), ("code", 0, 5)):
        found = swap(images, ALL, GROUPS, rng(1), whole=False, protocol=protocol)
        moved = (found.images != images).flatten(1).sum(1)[0::2][found.in_order == 0]
        assert set(moved.tolist()) == set(range(fewest, most + 1))


def test_the_released_code_shows_one_picture_twice():
    images = pictures()
    found = swap(images, ALL, GROUPS, rng(), whole=True, protocol="code")
    rows = GROUPS[found.in_order == 0]
    assert len(rows)
    assert torch.equal(found.images[rows[:, 0]], images[rows[:, 1]])


def test_steps_without_a_picture_keep_out_of_it_and_equal_pictures_are_in_order():
    seen = ALL.clone()
    seen[0::2] = False
    for whole in (True, False):
        found = swap(pictures(), seen, GROUPS, rng(), whole=whole)
        assert not found.asked.any()
        assert torch.equal(found.images, pictures())
        same = swap(torch.zeros(2 * MANY, 6, 1), ALL, GROUPS, rng(), whole=whole)
        assert same.in_order.all()
        assert same.asked.all()
        some = seen.index_fill(0, torch.tensor([0, 2]), True)
        three = swap(pictures(), some, torch.tensor([[0, 1, 2, 3, 5]]), rng(1), whole=whole)
        assert three.asked.tolist() == [True]
    assert not mask_patches(seen, GROUPS, 6, rng())[0::2].any()


@pytest.mark.parametrize(
    ("patches", "together", "count"), [(49, 2, 7), (49, 5, 7), (4, 4, 1), (16, 5, 2), (2, 2, 1)]
)
def test_as_many_patches_of_each_picture_and_less_than_half_in_common(patches, together, count):
    groups = torch.arange(40 * together).view(40, together)
    masked = mask_patches(torch.ones(40 * together, dtype=torch.bool), groups, patches, rng())
    assert (masked.sum(1) == count).all()
    of_groups = masked[groups].double()
    common = torch.einsum("gkw,glw->gkl", of_groups, of_groups).triu(1).max()
    assert 2 * common < count


def test_the_released_code_masks_five_and_lets_them_meet():
    masked = mask_patches(ALL, GROUPS, 49, rng(), protocol="code")
    assert (masked.sum(1) == 5).all()
    assert (masked[0::2] & masked[1::2]).sum(1).max() >= 3


def test_pictures_of_too_few_patches_are_refused():
    with pytest.raises(UserError, match="4 patches are too few to mask 1 in each of 5"):
        mask_patches(torch.ones(5, dtype=torch.bool), torch.arange(5)[None], 4, rng())
