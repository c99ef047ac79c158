"""The fixtures `harness` and `plugin_catalog`, for every test."""

pytest_plugins = ["wink.testing"]
