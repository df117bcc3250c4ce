"""Registry of data sets: expected content of the ones at OpenML, and instructions for the others.

Class counts are sorted, so that they do not depend on the names or the order of the classes. The counts of `satimage`
are those of OpenML's version, which has 6430 rows; the original has 6435.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class OpenMLDataset:
    """A data set at OpenML: its number, and the content that a download must have.

    Attributes
    ----------
    data_id : int
        OpenML's number.
    n_samples, n_features : int
    class_counts : tuple of int
        Numbers of rows of the classes that occur, in ascending order.
    note : str
    drop_first : bool
        True if OpenML's first column is not a feature (abalone's sex, leaf's specimen number).
    dtype : str
        Type of `X`; uint8 for pixels.
    n_train : int or None
        Size of the official training set, if there is one.
    train_counts : tuple of int
        Numbers of rows of the classes among the first `n_train`, in ascending order; they identify the official row
        order.
    """

    data_id: int
    n_samples: int
    n_features: int
    class_counts: tuple[int, ...]
    note: str
    drop_first: bool = False
    dtype: str = "float32"
    n_train: int | None = None
    train_counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class ManualDataset:
    """A data set that is not at OpenML: its size, and instructions to get it."""

    n_samples: int
    n_features: int | None
    n_classes: int
    instructions: str


_DIGITS = "handwritten digits 0-9, {} (UCI Multiple Features); the mfeat sets are six views of the same rows"
_TEN_TIMES_200 = (200,) * 10

OPENML = {
    "letter": OpenMLDataset(
        data_id=6,
        n_samples=20000,
        n_features=16,
        class_counts=(
            *(734, 734, 736, 739, 747, 748, 752, 753, 755, 758, 761, 764, 766),
            *(768, 773, 775, 783, 783, 786, 787, 789, 792, 796, 803, 805, 813),
        ),
        note="capital letters from 16 shape features (UCI Letter Recognition)",
        n_train=16000,
        train_counts=(
            *(576, 583, 587, 590, 593, 594, 597, 599, 604, 609, 613, 614, 615),
            *(616, 617, 622, 628, 628, 630, 633, 635, 638, 641, 645, 645, 648),
        ),
    ),
    "pendigits": OpenMLDataset(
        data_id=32,
        n_samples=10992,
        n_features=16,
        class_counts=(1055, 1055, 1055, 1055, 1056, 1142, 1143, 1143, 1144, 1144),
        note="digits written with a pen (UCI Pen-Based Recognition of Handwritten Digits)",
        n_train=7494,
        train_counts=(719, 719, 719, 720, 720, 778, 779, 780, 780, 780),
    ),
    "satimage": OpenMLDataset(
        data_id=182,
        n_samples=6430,
        n_features=36,
        class_counts=(625, 703, 707, 1356, 1508, 1531),
        note="soil from satellite images (UCI Statlog Landsat); 5 of the 6435 rows are missing at OpenML",
    ),
    "segment": OpenMLDataset(36, 2310, 19, (330,) * 7, "patches of outdoor images (UCI Statlog Image Segmentation)"),
    "mfeat_factors": OpenMLDataset(12, 2000, 216, _TEN_TIMES_200, _DIGITS.format("profile correlations")),
    "mfeat_fourier": OpenMLDataset(14, 2000, 76, _TEN_TIMES_200, _DIGITS.format("Fourier coefficients")),
    "mfeat_karhunen": OpenMLDataset(16, 2000, 64, _TEN_TIMES_200, _DIGITS.format("Karhunen-Loeve coefficients")),
    "mfeat_morphological": OpenMLDataset(18, 2000, 6, _TEN_TIMES_200, _DIGITS.format("morphological features")),
    "mfeat_pixel": OpenMLDataset(20, 2000, 240, _TEN_TIMES_200, _DIGITS.format("pixel averages"), dtype="uint8"),
    "mfeat_zernike": OpenMLDataset(22, 2000, 47, _TEN_TIMES_200, _DIGITS.format("Zernike moments")),
    "dermatology": OpenMLDataset(
        35, 366, 34, (20, 49, 52, 61, 72, 112), "skin diseases (UCI); 8 ages are missing (NaN)"
    ),
    "ecoli": OpenMLDataset(39, 336, 7, (2, 2, 5, 20, 35, 52, 77, 143), "where proteins are in E. coli (UCI)"),
    "glass": OpenMLDataset(
        41, 214, 9, (9, 13, 17, 29, 70, 76), "kinds of glass from oxides (UCI Glass Identification)"
    ),
    "vehicle": OpenMLDataset(54, 846, 18, (199, 212, 217, 218), "vehicles from silhouettes (UCI Statlog)"),
    "leaf": OpenMLDataset(
        data_id=1482,
        n_samples=340,
        n_features=14,
        class_counts=(
            *(8, 8, 9, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11),
            *(11, 12, 12, 12, 12, 12, 12, 12, 12, 12, 13, 13, 13, 14, 16),
        ),
        note="plant species from shape and texture of leaves (UCI); without the specimen number",
        drop_first=True,
    ),
    "abalone": OpenMLDataset(
        data_id=183,
        n_samples=4177,
        n_features=7,
        class_counts=(
            *(1, 1, 1, 1, 1, 2, 2, 6, 9, 14, 15, 26, 32, 42),
            *(57, 58, 67, 103, 115, 126, 203, 259, 267, 391, 487, 568, 634, 689),
        ),
        note="age of shells in rings (UCI); the 7 measures, without the sex",
        drop_first=True,
    ),
    "ionosphere": OpenMLDataset(59, 351, 34, (126, 225), "radar returns, good or bad (UCI)"),
    "pima": OpenMLDataset(37, 768, 8, (268, 500), "diabetes among Pima women; zeros stand for missing measures"),
    "wdbc": OpenMLDataset(1510, 569, 30, (212, 357), "breast tumors (UCI Breast Cancer Wisconsin, diagnostic)"),
    "mnist": OpenMLDataset(
        data_id=554,
        n_samples=70000,
        n_features=784,
        class_counts=(6313, 6824, 6825, 6876, 6903, 6958, 6990, 7141, 7293, 7877),
        note="handwritten digits, 28 x 28 pixels (LeCun, Cortes & Burges)",
        dtype="uint8",
        n_train=60000,
        train_counts=(5421, 5842, 5851, 5918, 5923, 5949, 5958, 6131, 6265, 6742),
    ),
    "usps": OpenMLDataset(
        data_id=41082,
        n_samples=9298,
        n_features=256,
        class_counts=(708, 716, 792, 821, 824, 834, 852, 929, 1269, 1553),
        note="digits of zip codes, 16 x 16 pixels in [-1, 1]; OpenML calls the digits 1 to 10",
        n_train=7291,
        train_counts=(542, 556, 644, 645, 652, 658, 664, 731, 1005, 1194),
    ),
}

_PALM = "get the MATLAB file from palm.seu.edu.cn/zhangml/Resources.htm and read it with oneof.datasets.load_mat"
_SSL = "get it from olivier.chapelle.cc/ssl-book/benchmarks.html and write it in oneof's .npz form"
_NEWS = "get the by-date version from qwone.com/~jason/20Newsgroups and write it in oneof's .npz form"

MANUAL = {
    "lost": ManualDataset(1122, 108, 16, _PALM),
    "birdsong": ManualDataset(4998, 38, 13, _PALM),
    "msrcv2": ManualDataset(1758, 48, 23, _PALM),
    "news20": ManualDataset(18846, 32443, 20, _NEWS),
    "news20_raw": ManualDataset(18846, None, 20, _NEWS),
    "reuters21578": ManualDataset(12902, 11524, 10, "get Reuters-21578, Distribution 1.0, and write its ModApte split"),
    "ssl_digit1": ManualDataset(1500, 241, 2, _SSL),
    "ssl_usps": ManualDataset(1500, 241, 2, _SSL),
    "ssl_g241c": ManualDataset(1500, 241, 2, _SSL),
    "ssl_text": ManualDataset(1500, 11960, 2, _SSL),
    "labelme_crowd": ManualDataset(2688, 512, 8, "get LabelMe's crowd answers of Rodrigues & Pereira (AAAI 2018)"),
    "bluebirds_crowd": ManualDataset(108, 0, 2, "get the bluebirds answers from github.com/welinder/cubam"),
}
