"""The frozen release: items, build rules, cards, import and export."""
