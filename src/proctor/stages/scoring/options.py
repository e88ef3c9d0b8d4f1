"""Options of ``proctor metrics FAMILY``, a struct for each family; what they compute is in the module of the family's name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from proctor.settings import argument, option
from proctor.stages.scoring.settings import Resamples, ScoreSettings

__all__ = [
    "AgreementSettings",
    "AnswerSettings",
    "ClassificationSettings",
    "ClusteringSettings",
    "LocalizationSettings",
    "OrderingSettings",
    "RetrievalSettings",
    "SegmentationSettings",
    "SignificanceSettings",
    "TextSettings",
]

_Slices: TypeAlias = Annotated[
    tuple[str, ...],
    option("Also score every value of this column by itself.", "--slice", metavar="COLUMN"),
]
_Cluster: TypeAlias = Annotated[
    str | None, option("Column the bootstrap draws by (default: recording).", metavar="COLUMN")
]


class AgreementSettings(ScoreSettings, frozen=True, kw_only=True):
    """Compare annotators, pair by pair and all together.

    FILE has one row for each unit and annotator (columns 'unit' and 'annotator'), and by kind:

    labels: 'label'; an empty one is missing, and so is what --missing names. Gives raw and specific agreement, prevalence, Cohen's kappa (weighted too
    from --level ordinal on), Krippendorff's alpha, by slice and by pair, and the mean of the pairs.

    orders: 'order', a list of step ids, first step first: a JSON array, or in CSV ids with spaces or | between. Gives
    kappa on pairs of steps, which is Kendall's tau.

    alternatives: 'gold', the authored order, and 'orders', the list of other orders that the annotator accepts, may be
    empty; in CSV '1 2 3' and '2 1 3|1 3 2'. Gives Algorithm 1 of Wu et al. 2022, Jaccard indices, alpha on pairs of steps, and the
    reference orders of the majority.

    segments: columns 'recording', 'annotator', 'step', 'start' and 'end' (seconds), one row a segment. Gives IoU per
    step, boundary errors and detection F1.

    A column 'recording' (or 'cluster') is what the intervals draw, since judgements of one recording are not
    independent. Put everything that was judged into the file: agreement on accepted units only says nothing.

    Example: proctor metrics agreement verdicts.csv --slice type --report agreement.html
    """

    file: Annotated[Path, argument("CSV, TSV, JSONL or JSON array, also .gz.", metavar="FILE")]
    kind: Annotated[
        Literal["labels", "orders", "alternatives", "segments"], option("What the annotators gave.")
    ] = "labels"
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"],
        option("Of labels: how far two of them are apart."),
    ] = "nominal"
    order: Annotated[
        str, option("Labels from low to high, for --level ordinal on words.", metavar="LOW,…,HIGH")
    ] = ""
    missing: Annotated[
        tuple[str, ...], option("A label that stands for none, such as NA (repeatable).", metavar="LABEL")
    ] = ()
    cluster: Annotated[
        str | None,
        option(
            "What the intervals draw together; 'cluster' or 'recording' if the file has it, else the unit.",
            metavar="COLUMN",
        ),
    ] = None
    slices: Annotated[
        tuple[str, ...], option("Score each of its values too (repeatable).", "--slice", metavar="COLUMN")
    ] = ()
    semantics: Annotated[
        Literal["order", "ranks"], option("Lists of steps are orders, or ranks of the steps 0 to N-1.")
    ] = "order"
    matching: Annotated[Literal["greedy", "hungarian"], option("Of alternative orders.")] = "greedy"
    penalty: Annotated[
        Literal["union", "tau"],
        option("Of an alternative order without a partner, against the authored order."),
    ] = "union"
    pooling: Annotated[
        Literal["pooled", "pair_mean"], option("All scores of a unit alike, or all its pairs of annotators.")
    ] = "pooled"
    quorum: Annotated[int, option("Annotators that it takes to vote for alternative orders.", ge=1)] = 1
    thresholds: Annotated[
        tuple[float, ...],
        option("IoU at which two segments are the same (repeatable).", "--threshold"),
    ] = (0.1, 0.25, 0.5)
    resamples: Resamples = 2_000


class AnswerSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score answers: exact match, F1, ROUGE, BERTScore, letters of multiple choice, judgements.

    Files are CSV, TSV, JSON Lines or JSON, joined by id. Open questions have answer (a text) or answers (a list,
    any of them is right; in CSV split at |). Multiple choice has options (a list, in the order shown) and gold
    (the letter, or the text of the right option). Predictions have response, or judgement (0 wrong, 1 partial,
    2 match; with --scale binary 0 wrong, 1 right; yes or no; or the judge's words), or both. Columns recording, recording_id, video_id or cluster say what belongs
    together; intervals come from drawing these as a whole.

    \b
      gt.jsonl       {"id": "q1", "answers": ["Add the salt.", "salt"], "recording": "1_7", "type": "next"}
      pred.jsonl     {"id": "q1", "response": "You should add salt"}
      choices.jsonl  {"id": "q1", "options": ["salt", "milk"], "gold": "B", "recording": "1_7"}
      letters.jsonl  {"id": "q1", "response": "The answer is B."}

    A question without a prediction, or with a null response, failed: it is counted, not silently dropped. An
    empty response is an answer, and wrong. A response in which no letter can be read is wrong, and counted apart.

    With letters the JSON also has the balance of gold and predicted letters, recall by letter, and what the options
    give away by their length.

    Example: proctor metrics answer --gt gt.jsonl --pred pred.jsonl --metric exact --metric rouge1 --slice type
    """  # noqa: D301  # \b keeps the lines of the example apart

    gt: Annotated[Path, option("Reference: id, and answer, answers or options with gold.", metavar="FILE")]
    pred: Annotated[Path, option("Predictions: id, and response or judgement.", metavar="FILE")]
    metrics: Annotated[
        tuple[str, ...],
        option(
            "exact, f1, rouge1, rougel, bertscore, choice, judge; repeatable (default: what the files hold).",
            "--metric",
            metavar="NAME",
        ),
    ] = ()
    choices: Annotated[bool, option("Read letters of multiple choice (same as --metric choice).")] = False
    normalisation: Annotated[
        Literal["none", "squad", "unicode"],
        option("Of exact match and F1; unicode for other languages than English."),
    ] = "squad"
    tokeniser: Annotated[
        Literal["ascii", "unicode"],
        option("Of ROUGE; ascii is the published one, which drops all but a-z and 0-9."),
    ] = "ascii"
    model: Annotated[
        Path | None, option("Local model for BERTScore; nothing is downloaded.", metavar="FOLDER")
    ] = None
    layer: Annotated[int | None, option("Its layer (default: the tuned one, else the last).", ge=0)] = None
    idf: Annotated[bool, option("BERTScore with inverse document frequencies of the references.")] = False
    baseline: Annotated[Path | None, option("Rescale BERTScore: LAYER,P,R,F.", metavar="FILE")] = None
    device: Annotated[str, option("For BERTScore: cpu or cuda.")] = "cpu"
    option_count: Annotated[
        int | None, option("Number of options, if the reference has no texts.", ge=2, le=26)
    ] = None
    opened_bracket: Annotated[bool, option("The prompt ended on '(': the response completes it.")] = False
    judge_scale: Annotated[
        Literal["smmqg", "promqa"],
        option("How a judge's words are read: first or last number behind the marker."),
    ] = "smmqg"
    scale: Annotated[
        Literal["ternary", "binary"] | None,
        option("Of judgements: 0, 1, 2, or 0, 1; needed where no judgement is 2."),
    ] = None
    missing: Annotated[
        Literal["failed", "wrong"], option("Questions without a response: left out and counted, or 0.")
    ] = "failed"
    slices: _Slices = ()
    cluster: _Cluster = None

    @property
    def chosen(self) -> tuple[str, ...]:
        """The metrics that were asked for; empty for what the files hold."""
        return (*self.metrics, *(["choice"] if self.choices else []))

    @property
    def slow(self) -> str:
        """BERTScore runs a model over all texts."""
        return "BERTScore" if "bertscore" in self.chosen else ""


class ClassificationSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score the recognition of mistakes: accuracy, precision, recall, F1, ROC-AUC, PR-AUC, EER.

    Every result is shown with what chance gives: always saying "mistake", never saying it, and guessing
    at the rate of mistakes. Intervals come from drawing whole recordings.

    Files are CSV, TSV, JSON Lines or JSON. The reference has the columns recording, step and label (1, true or
    yes for a mistake); the predictions have recording, step and score (higher: more likely a mistake), or
    predicted (yes/no decisions). One file may hold both.

    \b
      gt.csv                        pred.csv
      recording,step,label,kinds    recording,step,score
      1_7,4,0,                      1_7,4,0.12
      1_7,5,1,Timing|Order          1_7,5,0.80

    Further columns: substep (seconds or clips of a step; scored as they are and joined to steps), segment (which
    execution of a repeated step), kinds in the reference (kinds of mistake, each scored against the rest, with
    the columns score:Timing, score:Order, ... of the predictions if they are there). --slice takes a column of
    the reference (person), or one that only the predictions have (observed fraction, system): there every value
    is a prediction of its own, and all pairs are compared on the same resamples. For frames of videos, write video and frame instead of recording and step.

    The threshold is chosen on validation data (best F1), never on what is scored.

    Example: proctor metrics classification --gt gt.csv --pred pred.csv --validation val.csv
    """  # noqa: D301  # \b keeps the lines of the example apart

    pred: Annotated[Path, option("Predictions: recording, step, score (or predicted).", metavar="FILE")]
    gt: Annotated[
        Path | None, option("Reference: recording, step, label. Left out: --pred has it.", metavar="FILE")
    ] = None
    validation: Annotated[
        Path | None, option("Predictions on validation data; they choose the threshold.", metavar="FILE")
    ] = None
    validation_gt: Annotated[
        Path | None, option("Their labels, if not in the same file.", metavar="FILE")
    ] = None
    threshold: Annotated[float | None, option("A fixed threshold (default 0.5 without --validation).")] = None
    protocol: Annotated[
        Literal["corrected", "published"],
        option("published: rescale over the test set, then --threshold 0.6 (S) or 0.4 (R)."),
    ] = "corrected"
    aggregate: Annotated[
        Literal["mean", "vote"], option("How sub-steps become steps: mean score, or share above 0.5.")
    ] = "mean"
    repeated: Annotated[
        Literal["or", "last"], option("Label of a step done several times: any, or the last (as released).")
    ] = "or"
    slices: _Slices = ()
    allow_missing: Annotated[bool, option("Leave steps without a score out, and count them.")] = False


class ClusteringSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score discovered key steps: precision, recall, IoU and F1 after Hungarian matching.

    Clusters are matched one to one to key steps so that as many frames as possible agree, for all videos of a
    group together. "per key step" is the mean over key steps (as published), "pooled" divides sums. The row of chance shows what random clusters reach on the same frames: it depends on frame rate, number of clusters and pooling.

    Files are CSV, TSV, JSON Lines or JSON with one row a frame. Without a column frame, the rows of a video are
    taken in order. Both files must have the same frames.

    \b
      gt.csv                        pred.csv
      video,frame,label,recipe      video,frame,cluster
      1_7,0,0,coffee                1_7,0,12
      1_7,1,3,coffee                1_7,1,4

    Intervals come from drawing groups, or videos if there is one group.

    Example: proctor metrics clustering --gt gt.csv --pred pred.csv --group recipe --clusters 30 --rate "15 fps"
    """  # noqa: D301  # \b keeps the lines of the example apart

    gt: Annotated[Path, option("Reference: video, frame, label.", metavar="FILE")]
    pred: Annotated[Path, option("Clusters: video, frame, cluster.", metavar="FILE")]
    group: Annotated[
        str | None, option("Column of --gt: videos clustered together (recipe).", metavar="COLUMN")
    ] = None
    per_video: Annotated[bool, option("Match clusters within each video instead.")] = False
    background: Annotated[
        Literal["class", "matched", "dropped"],
        option("Background frames: a class, matched but not scored, or left out."),
    ] = "class"
    background_label: Annotated[str, option("The label of background frames.")] = "0"
    clusters: Annotated[
        int | None, option("Clusters of the model (30 as published); for the chance row.", ge=1)
    ] = None
    rate: Annotated[str | None, option('Frames a second, for the signature ("15 fps").')] = None
    draws: Annotated[int, option("Random clusterings behind the chance row.", ge=1)] = 20


class LocalizationSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score steps found in time: mAP and recall at k× at each temporal IoU, with intervals.

    Both files are CSV, TSV or JSON Lines (each also .gz), or ActivityNet JSON ('database' and 'results').

    \b
    Columns of the ground truth: video-id, t-start, t-end (seconds), label
    Columns of the predictions:  video-id, t-start, t-end (seconds), label, score

    Protocols: corrected scores all videos of the ground truth, or those that --videos names: in a video without
    any prediction nothing was found. --videos predicted leaves such videos out. activitynet always keeps the
    ground truth of all videos. published reproduces the figures released with CaptainCook4D: as activitynet, and
    predicted labels that the ground truth lacks collide with its renumbered classes.

    If the ground truth holds labels renumbered 0 to C-1, --label-map says what they were.

    Intervals come from a bootstrap over videos. Lines of chance say what the same segments get with their labels
    shuffled. Repeated and empty segments stay unless you drop them; either way
    they are counted.

    Example: proctor metrics localization --gt gt.csv --pred predictions.csv.gz --protocol corrected --slice has_error
    """  # noqa: D301  # \b keeps the lines of the columns apart

    gt: Annotated[Path, option("Ground truth: the segments to be found.", metavar="FILE")]
    pred: Annotated[Path, option("Predictions with scores, raw labels.", metavar="FILE")]
    protocol: Annotated[
        Literal["published", "activitynet", "corrected"], option("Which rules (see above).")
    ] = "corrected"
    label_map: Annotated[
        Path | None, option("JSON {raw label: renumbered label} of the ground truth.", metavar="FILE")
    ] = None
    tiou: Annotated[str, option("Thresholds: a list, or first:last:step such as 0.5:0.95:0.05.")] = (
        "0.1,0.2,0.3,0.4,0.5"
    )
    subset: Annotated[str | None, option("Only the videos of this subset of the ground truth.")] = None
    videos: Annotated[
        str | None,
        option(
            "The evaluated videos, one a line, or those with predictions (protocol corrected).",
            metavar="FILE|predicted",
        ),
    ] = None
    label_key: Annotated[
        str | None, option("Column or key of the class, such as label_id, where it is not 'label'.")
    ] = None
    drop_duplicates: Annotated[
        bool, option("Leave out segments whose label and ends (within 1 ms) repeat.")
    ] = False
    drop_empty: Annotated[bool, option("Leave out segments shorter than 1 ms.")] = False
    slice_column: Annotated[
        str | None,
        option("Also recall by a column of the ground truth (has_error).", "--slice", metavar="COLUMN"),
    ] = None
    matches: Annotated[
        Path | None,
        option(
            "Also write how each segment was found (CSV): score of its match, best overlap.", metavar="FILE"
        ),
    ] = None
    resamples: Resamples = 1_000


class OrderingSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score predicted orders of steps: Acc, PMR, Lq, Lr, tau, Dist, with intervals and chance.

    --gt has one line an item: "id" and "order", the list of step ids as they are done, or "references", a list of
    such lists of which the first is the authored order. Optional: "presented" (the steps as the model saw them;
    repair and tied scores need it), "semantics" ("ranks" if the lists say when each step is done instead),
    "constraints" (a list of [before, after]; with them "order" may be left out), and any columns for --slice and
    --cluster. --pred has "id" and "order", or "scores": an object from step id to number, or a list of numbers in
    presented order; smaller is earlier. --constraints has "id" and "constraints", or "id", "before" and "after".
    JSON Lines, JSON, CSV or TSV; lists in CSV are written a|b|c or as JSON.

    An item without a prediction is counted as failed, never left out silently. Ties of scores are broken by
    presented slot. With --compare both systems are measured on the items that both predicted: McNemar's exact test
    for PMR, sign-flip test and paired bootstrap for the others.

    Example: proctor metrics ordering --gt gold.jsonl --pred model.jsonl --mode repair --compare baseline.jsonl
    """

    gt: Annotated[Path, option("Right orders.", metavar="FILE")]
    pred: Annotated[Path, option("Predicted orders.", metavar="FILE")]
    mode: Annotated[
        Literal["strict", "repair"],
        option(
            "strict refuses predictions that lack, repeat or invent steps; repair drops and appends, and counts.",
        ),
    ] = "strict"
    references: Annotated[
        Literal["joint", "independent", "first"],
        option(
            "Which of several acceptable orders counts: the best one, the best of each measure, the first.",
        ),
    ] = "joint"
    constraints: Annotated[
        Path | None, option("What must come before what, item by item.", metavar="FILE")
    ] = None
    constraints_from_references: Annotated[
        bool, option("Constraints: what all references of an item agree on.")
    ] = False
    compare: Annotated[
        Path | None, option("Predictions of another system; differences are FILE − pred.", metavar="FILE")
    ] = None
    slices: Annotated[
        tuple[str, ...],
        option("A line for each value of this column of --gt (repeatable).", "--slice", metavar="COLUMN"),
    ] = ()
    cluster: Annotated[
        str | None, option("Bootstrap by this column of --gt (one manual, many items).", metavar="COLUMN")
    ] = None


class RetrievalSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score rankings of sources: recall@k, all gold@k, nDCG, MRR, MAP; by style and combination of modalities.

    --gt is a table (JSON Lines, JSON, CSV, TSV) with id and gold (a list of source ids; a|b in CSV; or objects with
    id, modality, gain), optionally modalities (a list beside gold), modality (the name of a combination) and style;
    or TREC qrels (.qrels, .trec). --pred has id and ranking (a list of source ids, best first), or is a TREC run
    (.run, .trec; ordered by score, equal scores by falling id, as trec_eval does). Repeated ids are removed before
    the cut and counted. With --pool, what a random order would get is shown as well. Tables are in per
    cent, every question weighing the same.

    Example: proctor metrics retrieval --gt items.jsonl --pred bm25.jsonl -k 5 -k 10 --pool sources.jsonl
    """

    gt: Annotated[Path, option("Questions with their gold sources.", metavar="FILE")]
    pred: Annotated[Path, option("A ranking for each question.", metavar="FILE")]
    k: Annotated[tuple[int, ...], option("Cut-off; several times.", "-k", ge=1)] = (5, 10)
    recall: Annotated[
        Literal["fractional", "all", "any"],
        option("Several gold sources: the share found, all or nothing, any one."),
    ] = "fractional"
    gain: Annotated[
        Literal["linear", "exponential"], option("Of nDCG with graded gold: the grade, or 2^grade - 1.")
    ] = "linear"
    missing: Annotated[
        Literal["failed", "zero"], option("Questions without a ranking: left out and counted, or 0.")
    ] = "failed"
    pool: Annotated[
        str | None,
        option("How many sources are ranked, or a table of them (id, modality).", metavar="N|FILE"),
    ] = None
    cluster: Annotated[str | None, option("Draw the bootstrap by this column of --gt.", metavar="COLUMN")] = (
        None
    )


class SegmentationSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score labels of frames: accuracy (MoF), edit score, segmental F1, boundary error, over-segmentation.

    Reference and prediction are each one of: a table of frames (columns video, frame, label), a table of segments
    (video, start, end, label; seconds, half-open; in the reference also duration, unless --length predicted), or a folder with one text file a video and
    one label a line (as groundTruth/ of MS-TCN; its result files are read too). Tables are CSV, TSV, JSON or JSON
    Lines. Segments become frames with --rate; frames in none are the first --background label.

    Intervals are bootstrapped over videos. Two baselines are shown as well: the most frequent label
    everywhere, and a random label for every frame. Videos without a prediction are counted, not scored as 0.

    Example: proctor metrics segmentation --gt groundTruth --pred results --background background --rate 15
    """

    gt: Annotated[Path, option("Reference: a table or a folder.", metavar="FILE")]
    pred: Annotated[Path, option("Prediction: a table or a folder.", metavar="FILE")]
    rate: Annotated[float | None, option("Labelled frames per second; segments need it.", metavar="FPS")] = (
        None
    )
    background: Annotated[
        tuple[str, ...], option("A label that is no action (several times).", metavar="LABEL")
    ] = ()
    overlaps: Annotated[str, option("Overlaps of F1, in per cent.", metavar="LIST")] = "10,25,50"
    matching: Annotated[
        Literal["published", "corrected"],
        option("F1: the field's rule, or the largest one-to-one assignment."),
    ] = "published"
    lengths: Annotated[
        Literal["error", "trim"], option("Videos of unequal length: an error, or cut both to the shorter.")
    ] = "error"
    length: Annotated[
        Literal["reference", "predicted"],
        option(
            "Of a video of segments: the reference's duration, or where unknown the last segment of either side."
        ),
    ] = "reference"
    conflict: Annotated[
        Literal["error", "later"], option("Overlapping segments of a file: an error, or the later one wins.")
    ] = "error"
    boundary_overlap: Annotated[float, option("Smallest IoU of segments whose boundaries are compared.")] = (
        0.1
    )


class SignificanceSettings(ScoreSettings, frozen=True, kw_only=True):
    """Test which systems differ, and how far the numbers can be trusted.

    FILE holds marks in one of three forms. Wide: a column 'item' and one column of marks a system. Long: columns 'item',
    'system' and 'value'. Several files: 'item' and 'value', one system a file. A column 'recording' (or 'cluster') says which
    items are not independent, 'stratum' which make-up was fixed. Marks are numbers or yes/no; an empty mark is an answer that
    failed: it is left out and counted, never 0.

    Printed: each system's mean with its interval (BCa bootstrap over clusters, the same draws for all); for each pair the
    difference with its interval, p, p corrected over all pairs (Holm), the effect (mean over standard deviation), and the
    smallest difference that these items would show (power 0.8 at 0.05).

    Judges. If a machine gave the marks, --judge-calibration FILE corrects shares of yes/no by its sensitivity and specificity;
    --human FILE with people's marks on a random part of the items (and a column 'system' if there are several) gives the mean
    that people would have given (prediction-powered inference, PPI), and how far judge and people agree. Both carry the uncertainty of the calibration.

    Benchmarks. --concurrence FILE with marks of the same systems on other items gives Kendall's tau-b of the two rankings, its
    exact p, and an interval over the questions of both.

    Confidences. With --calibration FILE has 'confidence' (0 to 1) and 'correct' (yes/no), perhaps 'system' and 'recording';
    printed are accuracy, ECE (beside what a calibrated system would show by chance), MCE, Brier score and log loss; --report draws the reliability diagram.

    Example: proctor metrics significance marks.csv --reference baseline --report comparison.html
    """

    files: Annotated[tuple[Path, ...], argument("CSV, TSV, JSONL or JSON array, also .gz.", metavar="FILE")]
    test: Annotated[
        Literal["sign-flip", "mcnemar", "mcnemar-mid-p", "permutation", "mann-whitney", "fisher"],
        option("Same items: the first three. Different items in each system: the last three."),
    ] = "sign-flip"
    systems: Annotated[
        tuple[str, ...], option("Compare these only, in this order (repeatable).", "--system", metavar="NAME")
    ] = ()
    reference: Annotated[str | None, option("Compare the others with this system only.", metavar="NAME")] = (
        None
    )
    cluster: Annotated[
        str | None,
        option(
            "What is drawn together; 'cluster', 'recording' or 'video_id' if the file has it, else the item.",
            metavar="COLUMN",
        ),
    ] = None
    stratum: Annotated[
        str | None, option("Draw within its values; 'stratum' if the file has it.", metavar="COLUMN")
    ] = None
    difference: Annotated[
        float | None, option("Also say how many items it takes to find this difference.", metavar="NUMBER")
    ] = None
    judge_calibration: Annotated[
        Path | None,
        option("Yes/no by people and judge (columns 'human', 'judge'): corrects shares.", metavar="FILE"),
    ] = None
    human: Annotated[
        Path | None, option("People's marks on some items ('item', 'human'): corrects means.", metavar="FILE")
    ] = None
    concurrence: Annotated[
        Path | None,
        option("Marks of the same systems on another benchmark: are they ranked alike?", metavar="FILE"),
    ] = None
    calibration: Annotated[bool, option("FILE holds confidences: see below.")] = False
    bins: Annotated[int, option("Of --calibration.", ge=1)] = 10
    binning: Annotated[
        Literal["width", "mass"], option("Bins of --calibration: as wide, or as full, as each other.")
    ] = "width"


class TextSettings(ScoreSettings, frozen=True, kw_only=True):
    """Describe texts: words and tokens, type-token ratio, HD-D, distinct-n, first words, similarity of vectors.

    The file is CSV, TSV, JSON Lines or JSON with a column of texts (in JSON also lists of texts). Words are split
    at white space; tokens count punctuation too, as published figures do. Type-token ratio and distinct-n fall
    with the amount of text: to compare slices of unlike size use HD-D, the type-token ratio of 42 words drawn at
    random. "vocabulary" is the share of all different words that a slice uses.

    \b
      questions.csv
      id,question,type,recording
      q1,Did I miss a step?,missing,1_7

    Vectors come from a model of your choice, saved with numpy.save; the JSON lists the most similar pairs.

    Example: proctor metrics text questions.csv --column question --slice type --vectors e5.npy
    """  # noqa: D301  # \b keeps the lines of the example apart

    file: Annotated[Path, argument("Table with a column of texts.", metavar="FILE")]
    column: Annotated[
        str | None, option("Of texts or lists of texts (default: question, text, answer).", metavar="NAME")
    ] = None
    vectors: Annotated[
        Path | None, option("Embeddings, one row a line, in the same order.", metavar="FILE.npy")
    ] = None
    slices: Annotated[
        tuple[str, ...],
        option("Also describe every value of this column by itself.", "--slice", metavar="COLUMN"),
    ] = ()
    cluster: _Cluster = None
    window: Annotated[int, option("Words in the window of MATTR.", ge=1)] = 50
    threshold: Annotated[float, option("Cosine above which texts are near-duplicates.")] = 0.95
