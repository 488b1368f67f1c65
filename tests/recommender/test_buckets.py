"""The 352 bucket edges are what upstream's code computes on amd64 (recommender Appendix B)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.buckets import CPU_BUCKETS, MEMORY_BUCKETS, BucketScheme
from tests.recommender.scene import integers

CPU_EDGES = """
0 10 20 31 43 55 68 81
95 110 125 142 159 177 195 215
236 258 281 305 330 357 385 414
445 477 511 546 584 623 664 707
752 800 850 903 958 1016 1077 1140
1207 1278 1352 1429 1511 1597 1686 1781
1880 1984 2093 2208 2328 2454 2587 2727
2873 3027 3188 3357 3535 3722 3918 4124
4340 4567 4806 5056 5319 5595 5885 6189
6509 6844 7196 7566 7954 8362 8790 9240
9712 10207 10728 11274 11848 12450 13083 13747
14444 15177 15946 16753 17601 18491 19425 20406
21437 22519 23655 24847 26100 27415 28796 30245
31768 33366 35044 36807 38657 40600 42640 44782
47031 49393 51872 54476 57210 60080 63094 66259
69582 73071 76735 80581 84620 88861 93315 97990
102900 108055 113468 119151 125119 131385 137964 144872
152126 159742 167739 176136 184953 194211 203931 214138
224855 236107 247923 260329 273356 287033 301395 316475
332309 348934 366391 384720 403966 424175 445393 467673
491067 515630 541422 568503 596938 626795 658145 691062
725625 761916 800022 840033 882045 926157 972475 1021109
"""

MEMORY_EDGES = """
0 10000000 20499999 31524999 43101249 55256312 68019128 81420084
95491088 110265643 125778925 142067871 159171265 177129828 195986319 215785635
236574917 258403663 281323846 305390039 330659541 357192518 385052143 414304751
445019988 477270988 511134537 546691264 584025827 623227119 664388475 707607898
752988293 800637708 850669593 903203073 958363227 1016281388 1077095457 1140950230
1207997742 1278397629 1352317511 1429933386 1511430055 1597001558 1686851636 1781194218
1880253929 1984266625 2093479957 2208153955 2328561652 2454989735 2587739222 2727126183
2873482492 3027156617 3188514447 3357940170 3535837178 3722629037 3918760489 4124698514
4340933439 4567980111 4806379117 5056698073 5319532976 5595509625 5885285107 6189549362
6509026830 6844478172 7196702080 7566537184 7954864043 8362607246 8790737608 9240274488
9712288213 10207902624 10728297755 11274712643 11848448275 12450870688 13083414223 13747584934
14444964181 15177212390 15946073009 16753376660 17601045493 18491097767 19425652656 20406935289
21437282053 22519146156 23655103464 24847858637 26100251569 27415264147 28796027355 30245828722
31768120159 33366526166 35044852475 36807095099 38657449854 40600322346 42640338464 44782355387
47031473156 49393046814 51872699155 54476334112 57210150818 60080658359 63094691277 66259425841
69582397133 73071516990 76735092839 80581847481 84620939855 88861986848 93315086190 97990840500
102900382525 108055401651 113468171734 119151580321 125119159337 131385117303 137964373169 144872591827
152126221418 159742532489 167739659114 176136642070 184953474173 194211147882 203931705276 214138290540
224855205067 236107965320 247923363586 260329531765 273356008354 287033808772 301395499210 316475274171
332309037879 348934489773 366391214262 384720774975 403966813724 424175154410 445393912130 467673607737
491067288124 515630652530 541422185157 568503294415 596938459135 626795382092 658145151197 691062408757
725625529194 761916805654 800022645937 840033778234 882045467145 926157740503 972475627528 1021109408904
"""

BOTH = pytest.mark.parametrize("scheme", [CPU_BUCKETS, MEMORY_BUCKETS], ids=["cpu", "memory"])


@pytest.mark.parametrize(("scheme", "edges"), [(CPU_BUCKETS, CPU_EDGES), (MEMORY_BUCKETS, MEMORY_EDGES)])
def test_all_edges_are_those_of_the_appendix(scheme: BucketScheme, edges: str) -> None:
    """Spec: recommender:1.1, recommender:B."""
    assert scheme.count == 176
    assert scheme.edge_amounts.tolist() == [int(edge) for edge in edges.split()]


def test_the_one_edge_that_the_c_library_gets_wrong() -> None:
    """Spec: recommender:A, recommender:0."""
    assert int(MEMORY_BUCKETS.edge_amounts[4]) == 43101249
    assert int(1e7 * (1.05**4 - 1.0) / (1.05 - 1.0)) == 43101250


@BOTH
def test_an_end_is_the_next_start_and_the_last_its_own(scheme: BucketScheme) -> None:
    """Spec: recommender:1.1."""
    assert scheme.starts[0] == 0.0
    assert scheme.ends[:-1].tolist() == scheme.starts[1:].tolist()
    assert scheme.ends[-1] == scheme.starts[-1]


@BOTH
def test_the_start_of_a_bucket_falls_into_the_one_before(scheme: BucketScheme) -> None:
    """Spec: recommender:1.1."""
    found = scheme.bucket_of_values(scheme.starts)
    assert found.tolist() == [0, 1, *range(1, 175)]


@BOTH
def test_values_below_the_first_size_and_beyond_the_last_edge(scheme: BucketScheme) -> None:
    """Spec: recommender:1.1."""
    values = np.array([0.0, np.nextafter(scheme.first, 0.0), scheme.first, scheme.starts[175] * 1.5, 1e14])
    assert scheme.bucket_of_values(values).tolist() == [0, 0, 1, 175, 175]


@BOTH
def test_amounts_around_every_edge_agree_with_their_values(scheme: BucketScheme) -> None:
    """Spec: recommender:1.1."""
    amounts = (scheme.edge_amounts[:, np.newaxis] + np.arange(-40, 41)).clip(0).ravel()
    by_value = scheme.bucket_of_values(amounts / scheme.amounts_per_unit)
    assert np.array_equal(scheme.bucket_of_amounts(amounts), by_value)
    assert len(np.unique(by_value)) == 176


@BOTH
@given(amounts=st.lists(st.integers(0, 10**14), max_size=50))
def test_any_amount_agrees_with_its_value(scheme: BucketScheme, amounts: list[int]) -> None:
    column = integers(*amounts)
    by_value = scheme.bucket_of_values(column / scheme.amounts_per_unit)
    assert scheme.bucket_of_amounts(column).tolist() == by_value.tolist()


def test_every_millicore_up_to_five_cores_agrees_with_its_value() -> None:
    amounts = np.arange(5000)
    assert np.array_equal(CPU_BUCKETS.bucket_of_amounts(amounts), CPU_BUCKETS.bucket_of_values(amounts / 1000.0))


@given(st.integers(0, 1_021_108))
def test_the_end_of_a_bucket_is_above_what_fell_into_it_by_one_step_at_most(millicores: int) -> None:
    bucket = int(CPU_BUCKETS.bucket_of_amounts(integers(millicores))[0])
    value = millicores / 1000.0
    assert value <= CPU_BUCKETS.ends[bucket] <= value * 1.05 + 0.01 + 1e-12


def test_tables_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        CPU_BUCKETS.starts[0] = 1.0


def test_the_largest_number_is_in_the_last_bucket() -> None:
    """Spec: beyond:B-32."""
    largest = np.array([2**63 - 1, 2**63 - 2, 10**14], dtype=np.int64)
    for scheme in (CPU_BUCKETS, MEMORY_BUCKETS):
        assert scheme.bucket_of_amounts(largest).tolist() == [scheme.count - 1] * 3
