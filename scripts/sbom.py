#!/usr/bin/env python3
"""Writes a CycloneDX 1.5 bill of materials of what `cargo build --release` links, from `cargo metadata` and Cargo.lock.

    scripts/sbom.py [--features cuda] > ragscope.cdx.json

Build and test dependencies are left out, and so are packages of other platforms. Checksums are those of Cargo.lock.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tomllib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", default="", help="features of the build, as cargo takes them")
    parser.add_argument("--target", help="platform [default: this one]")
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    target = arguments.target or host()
    command = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"]
    if arguments.features:
        command.append(f"--features={arguments.features}")
    metadata = json.loads(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout)
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    packages = {one["id"]: one for one in metadata["packages"]}
    nodes = {one["id"]: one for one in metadata["resolve"]["nodes"]}
    start = metadata["resolve"]["root"]
    linked: dict[str, list[str]] = {}
    waiting = [start]
    while waiting:
        package = waiting.pop()
        if package in linked:
            continue
        # A dependency without a kind is linked; `dev` and `build` are not.
        needed = [one["pkg"] for one in nodes[package]["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]
        linked[package] = sorted(needed)
        waiting += needed
    reference = lambda package: f"pkg:cargo/{packages[package]['name']}@{packages[package]['version']}"
    components = []
    for package in sorted(linked, key=reference):
        if package == start:
            continue
        about = packages[package]
        component = {
            "type": "library",
            "bom-ref": reference(package),
            "name": about["name"],
            "version": about["version"],
            "purl": reference(package),
            "scope": "required",
        }
        if about.get("license"):
            component["licenses"] = [{"expression": about["license"].replace("/", " OR ")}]
        if checksum := checksums.get((about["name"], about["version"])):
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if about.get("repository"):
            component["externalReferences"] = [{"type": "vcs", "url": about["repository"]}]
        components.append(component)
    main_package = packages[start]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": reference(start),
                "name": main_package["name"],
                "version": main_package["version"],
                "licenses": [{"expression": main_package["license"]}],
            },
            "properties": [{"name": "cargo:target", "value": target}, {"name": "cargo:features", "value": arguments.features}],
        },
        "components": components,
        "dependencies": [
            {"ref": reference(package), "dependsOn": sorted({reference(one) for one in needed})}
            for package, needed in sorted(linked.items(), key=lambda item: reference(item[0]))
        ],
    }
    json.dump(document, sys.stdout, indent=1)
    print()
    without = [one["name"] for one in components if "licenses" not in one or "hashes" not in one]
    print(f"{len(components)} packages" + (f"; without licence or checksum: {without}" if without else ""), file=sys.stderr)


def host() -> str:
    said = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return next(line.removeprefix("host: ") for line in said.splitlines() if line.startswith("host: "))


if __name__ == "__main__":
    main()
