"""Where config files are: of one's own, or shipped with the library and called by name."""

from pathlib import Path

from forecast.experiment.faults import ConfigError, nearest


def find_config(path: str | Path) -> Path:
    """Give the path of a config file, or of a shipped one by its name. Raises ConfigError where there is none."""
    path = Path(path)
    if path.is_file():
        return path
    folder = shipped()
    names = sorted(one.stem for one in folder.glob("*.yaml")) if folder else []
    if folder and str(path) in names:
        return folder / f"{path}.yaml"
    fault = "this is a folder; give a YAML file" if path.is_dir() else "there is no such file"
    hint = nearest(path.stem, names)
    where = f"shipped with the library, and run by name: {', '.join(names)} (the files are in {folder})"
    raise ConfigError(f"{path}: {fault}; {hint}{where if names else 'no experiment is shipped here'}")


def shipped(package: Path = Path(__file__).parents[1]) -> Path | None:
    """Give the folder of experiments inside the installed package, else beside the sources, else None."""
    bundled, beside = package / "_bundled" / "experiments", package.parent / "experiments"
    if bundled.is_dir():
        return bundled
    return beside if beside.is_dir() and (package.parent / "pyproject.toml").is_file() else None
