"""Programs in the workspace as transactions: what they change lies in an overlay, and is merged or dropped."""

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink.trust import allowed
from wink_sandbox._call import Outcome, OverlayIsolation, people_in_call, run_in_call
from wink_sandbox._deep import Opened, remove_tree, walk_tree
from wink_sandbox._git_config import keep_base, with_git_config
from wink_sandbox._git_outside import Beside, GitHome, GitOutside, beside, git_home, git_outside, index_in, worktree_in
from wink_sandbox._guard import Guard, Guarded, OverlayGuard, usual_guard
from wink_sandbox._lay import check_mounts, foreign, mounted_in, objection
from wink_sandbox._merge import Differences, Notes, changed_meanwhile, differences, forget, lay_aside, merge, refused
from wink_sandbox._overlay import (
    COPY,
    LEFT_OUT,
    SINCE,
    Overlay,
    fresh_name,
    has_copy,
    has_left_out,
    is_directory,
    is_unsettled,
    layers,
    overlays_in,
    sweep,
)
from wink_sandbox._rules import git_directory_of, repository_of, steering
from wink_sandbox._rules import problem as merge_problem
from wink_sandbox._sandbox import PROGRAMS, Sandbox, bubblewrap, opened, own_places, run_request, words_of
from wink_sandbox._scratch import Scratch
from wink_sandbox._upper import DEEPEST, Step, is_opaque, unhide
from wink_sandbox.network import Contact, Traffic
from wink_sandbox.programs import (
    ENVIRONMENT,
    MIB,
    SCRATCH,
    SYSTEM,
    Channel,
    Command,
    Ended,
    Keeper,
    Limits,
    Mount,
    OnOutput,
    Output,
    Profile,
    Reason,
    Request,
    Stop,
    Streams,
    launcher,
    watch,
)

if TYPE_CHECKING:
    from wink_sandbox._copy import copy_file
    from wink_sandbox._copy_guard import CopyGuard
    from wink_sandbox._copy_of_try import CopyLost, CopyOfTry
    from wink_sandbox._elsewhere import CopyLeft, copies_left, forget_copies, free_copy
    from wink_sandbox._git_remotes import RemoteSetting
    from wink_sandbox._left_out import in_the_place_of_left_out
    from wink_sandbox._objects import git_environment
    from wink_sandbox._probe import Feature, Report, probe
    from wink_sandbox._settings_files import SettingsProblem, unreadable_settings
    from wink_sandbox._unguarded import Unguarded
    from wink_sandbox.network import Listed, People, has_terminal
    from wink_sandbox.programs import mount

__all__ = [
    "COPY",
    "CopyLeft",
    "copies_left",
    "free_copy",
    "DEEPEST",
    "ENVIRONMENT",
    "LEFT_OUT",
    "MIB",
    "PROGRAMS",
    "SCRATCH",
    "SINCE",
    "SYSTEM",
    "Beside",
    "Channel",
    "Command",
    "Contact",
    "CopyGuard",
    "CopyLost",
    "CopyOfTry",
    "Differences",
    "Ended",
    "Feature",
    "GitHome",
    "GitOutside",
    "Guard",
    "Guarded",
    "Keeper",
    "Limits",
    "Listed",
    "Mount",
    "Notes",
    "OnOutput",
    "Outcome",
    "Output",
    "Opened",
    "Overlay",
    "OverlayGuard",
    "OverlayIsolation",
    "People",
    "Profile",
    "Reason",
    "RemoteSetting",
    "Report",
    "Request",
    "Sandbox",
    "Scratch",
    "SettingsProblem",
    "Step",
    "Stop",
    "Streams",
    "Traffic",
    "Unguarded",
    "allowed",
    "beside",
    "bubblewrap",
    "changed_meanwhile",
    "check_mounts",
    "copy_file",
    "differences",
    "foreign",
    "forget",
    "forget_copies",
    "fresh_name",
    "git_directory_of",
    "git_environment",
    "git_home",
    "git_outside",
    "has_copy",
    "has_left_out",
    "has_terminal",
    "in_the_place_of_left_out",
    "keep_base",
    "launcher",
    "merge",
    "merge_problem",
    "mount",
    "people_in_call",
    "mounted_in",
    "objection",
    "opened",
    "own_places",
    "probe",
    "refused",
    "remove_tree",
    "repository_of",
    "run_in_call",
    "run_request",
    "index_in",
    "is_directory",
    "is_opaque",
    "is_unsettled",
    "lay_aside",
    "layers",
    "overlays_in",
    "steering",
    "sweep",
    "unhide",
    "unreadable_settings",
    "usual_guard",
    "walk_tree",
    "worktree_in",
    "watch",
    "with_git_config",
    "words_of",
]

# wink.testing asks it: that a program is started is the tool's act, and what is read and written around it is not.
__acts_for_tools__ = ("reads", "changes")

# What most programs do without is imported when it is asked for (PEP 562).
_LATER = {
    "CopyGuard": "_copy_guard",
    "copy_file": "_copy",
    "CopyLost CopyOfTry": "_copy_of_try",
    "CopyLeft copies_left forget_copies free_copy": "_elsewhere",
    "in_the_place_of_left_out": "_left_out",
    "git_environment": "_objects",
    "RemoteSetting": "_git_remotes",
    "Feature Report probe": "_probe",
    "SettingsProblem unreadable_settings": "_settings_files",
    "mount": "programs",
    "Unguarded": "_unguarded",
    "Listed People has_terminal": "network",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, _LATER)
