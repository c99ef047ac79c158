"""Versions are compared as PEP 440 has it; `packaging` is the judge."""

from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from wink.plugins._versions import is_within, version_key

numbers = st.integers(0, 3)
releases = st.lists(numbers, min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
suffixes = st.sampled_from(["", "", "", "a1", "b2", "rc1", ".post1", ".dev0", "a1.dev2", ".post1.dev3"])
versions = st.builds("{}{}{}".format, st.sampled_from(["", "", "1!"]), releases, suffixes)
clauses = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["==", "!=", "<=", ">=", "<", ">"]), versions),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), releases),
    st.builds("~={}.{}".format, releases, numbers),
)


@given(versions, versions)
def test_versions_are_ordered_as_packaging_orders_them(one: str, other: str) -> None:
    """Which of two installed versions is the newer one."""
    ours, theirs = (version_key(one), version_key(other)), (Version(one), Version(other))

    assert ours[0] is not None
    assert ours[1] is not None
    assert (ours[0] < ours[1], ours[0] == ours[1]) == (theirs[0] < theirs[1], theirs[0] == theirs[1])


@given(versions, st.lists(clauses, min_size=1, max_size=3).map(",".join))
def test_ranges_are_judged_as_packaging_judges_them(version: str, wanted: str) -> None:
    """Whether a plugin's requirement admits this wink."""
    assert is_within(version, wanted) == SpecifierSet(wanted).contains(version, prereleases=True)


@given(st.text(max_size=12), st.text(max_size=12))
def test_nonsense_is_not_a_version_and_not_a_crash(version: str, wanted: str) -> None:
    """Metadata are written by people."""
    version_key(version)
    is_within(version, wanted)
