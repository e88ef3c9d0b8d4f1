import pytest


@pytest.fixture
def files(tmp_path):
    rows = [(f"v{v}", f, f // 5, f"recipe{v % 2}", (f + v) // 5) for v in range(4) for f in range(20)]
    gt, pred = tmp_path / "gt.csv", tmp_path / "pred.csv"
    gt.write_text("video,frame,label,recipe\n" + "".join(f"{v},{f},{y},{r}\n" for v, f, y, r, _ in rows))
    pred.write_text("video,frame,cluster\n" + "".join(f"{v},{f},{c}\n" for v, f, _, _, c in rows))
    return gt, pred


def run(proctor, files, *options):
    return proctor("score", "clustering", "--gt", files[0], "--pred", files[1], "--resamples", 50, *options)


def test_table(proctor, files):
    outcome = run(proctor, files, "--group", "recipe", "--clusters", 30, "--rate", "15 fps")
    assert outcome.status == 0, outcome.err
    for word in ("per key step", "pooled", "random", "recipe1", "rate:15 fps", "clusters:30"):
        assert word in outcome.out


def test_json(proctor, files):
    result = run(proctor, files, "--json").json
    assert result["family"] == "clustering"
    assert result["key_step_iou"] > result["chance"]["key_step_iou"]
    assert result["counts"] == {"videos": 4, "groups": 1, "frames": 80}


def test_unequal_frames(proctor, files):
    files[1].write_text("\n".join(files[1].read_text().splitlines()[:-1]) + "\n")
    outcome = run(proctor, files)
    assert outcome.status == 2
    assert "'v3' has 20 frames in gt.csv and 19 in pred.csv" in outcome.err
