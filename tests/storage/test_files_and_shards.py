"""Samples come back as they went in, from files and from shards; archives are as long as counted."""

import gc
import tarfile
import warnings
from io import BytesIO
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.storage import (
    Sample,
    TornShard,
    behind_latency,
    digit_samples,
    files_per_s,
    forget,
    pack_shard,
    photo_samples,
    pixels,
    read_file,
    read_shard,
    read_with_workers,
    shard_bytes,
    shards,
    time_samples,
    unpack_shard,
    write_files,
    write_shards,
)
from course_lib.tasks.digits import _read

FEW = [Sample("a", b"x" * 512, 3), Sample("b", b"", 10), Sample("c", b"y" * 513, 0, "jpg")]


def test_an_archive_by_hand() -> None:
    # a: header, image, header, label = 4 blocks; b: 1 + 0 + 2 = 3; c: 1 + 2 + 2 = 5; two blocks of zeros: 14 of 20.
    assert shard_bytes(FEW) == len(pack_shard(FEW)) == 20 * 512
    nineteen = [Sample(str(number), b"x", 0) for number in range(4)] + [Sample("4", b"", 0)]
    assert shard_bytes(nineteen) == len(pack_shard(nineteen)) == 40 * 512


@pytest.mark.parametrize("count", [0, 1, 9, 10, 300])
def test_archives_are_as_long_as_counted(count: int) -> None:
    samples = digit_samples(300)[:count]
    assert shard_bytes(samples) == len(pack_shard(samples))
    assert list(unpack_shard(pack_shard(samples))) == samples


def test_files_give_back_their_samples(tmp_path: Path) -> None:
    samples = photo_samples(7, side=32) + digit_samples(20)[7:]
    paths = write_files(samples, tmp_path)
    assert [read_file(path) for path in paths] == samples
    assert list(read_with_workers(read_file, paths, 4)) == samples


@pytest.mark.parametrize(("shard_samples", "shards"), [(1, 20), (7, 3), (20, 1), (50, 1)])
def test_shards_give_back_their_samples_in_order(tmp_path: Path, shard_samples: int, shards: int) -> None:
    samples = digit_samples(20)
    paths = write_shards(samples, tmp_path, shard_samples)
    assert len(paths) == shards
    assert [sample for path in paths for sample in read_shard(path)] == samples


def test_tar_reads_our_shards(tmp_path: Path) -> None:
    (path,) = write_shards(FEW, tmp_path, 3)
    with tarfile.open(path) as archive:
        assert archive.getnames() == ["a.png", "a.cls", "b.png", "b.cls", "c.jpg", "c.cls"]


def test_digits_keep_their_pixels_and_lie_by_class_if_asked() -> None:
    images, labels = _read()
    assert torch.equal(torch.stack([pixels(sample) for sample in digit_samples(30)]), images[:30])
    ordered = digit_samples(200, by_class=True)
    assert [s.label for s in ordered] == sorted(labels[:200].tolist())
    assert [s.key for s in ordered] == [f"{place:05d}" for place in range(200)]


@pytest.mark.parametrize("cut", [1, 511, 600, 1000, 1100, 1700, 3000])
def test_a_torn_shard_gives_its_whole_samples_and_then_says_so(cut: int) -> None:
    torn = pack_shard(FEW)[: 12 * 512 - cut]  # the last sample ends at block 12, the second at block 7
    reader = unpack_shard(torn)
    whole = 2 if len(torn) > 7 * 512 else 1
    assert [next(reader) for _ in range(whole)] == FEW[:whole]
    with pytest.raises(TornShard, match=f"ends at byte {len(torn)}"):
        next(reader)


def test_a_sample_needs_one_image_and_one_label() -> None:
    one, other = (pack_shard([sample]) for sample in FEW[:2])
    with pytest.raises(ValueError, match=r"sample 'a' must have one image and one label \(cls\), got \['png'\]"):
        list(unpack_shard(one[:1024] + other))


@pytest.mark.parametrize(("key", "extension"), [("", "png"), ("a.b", "png"), ("a/.b", "png"), ("a", ""), ("a", "cls")])
def test_what_would_not_come_out_of_a_shard_as_it_went_in_is_refused(key: str, extension: str) -> None:
    with pytest.raises(ValueError, match=f"got '{key}.{extension}'"):
        pack_shard([Sample(key, b"x", 1, extension)])


def test_what_is_no_archive_is_refused() -> None:
    with pytest.raises(ValueError, match="the shard is no tar archive"):
        list(unpack_shard(b"words" * 200))


def test_folders_in_an_archive_are_passed_over() -> None:
    folder = tarfile.TarInfo("b")
    folder.type = tarfile.DIRTYPE
    one, other = (pack_shard([sample]) for sample in FEW[::2])
    assert list(unpack_shard(one[: 4 * 512] + folder.tobuf() + other)) == FEW[::2]


def archive(names: list[str], format: int) -> bytes:
    """An archive of files of these names, each of which holds its name; labels are digits."""
    stream = BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as tar:
        for name in names:
            content = b"7" if name.endswith(".cls") else name.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, BytesIO(content))
    return stream.getvalue()


FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
LONG = "/".join(["folder-1.5"] * 12 + ["x" * 90])  # 222 letters: in POSIX's header in two pieces


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("key", ["a", "v1.0/0001", "./a", "day-1.5/b.2/00017", LONG, "x" * 95 + "/" + "y" * 60])
def test_keys_of_any_length_and_in_any_folder_are_read_from_every_format(key: str, format: int) -> None:
    content = archive([f"{key}.png", f"{key}.cls", f"{key}2.seg.png", f"{key}2.cls"], format)
    first, second = unpack_shard(content)
    assert first == Sample(key, f"{key}.png".encode(), 7, "png")
    assert second == Sample(f"{key}2", f"{key}2.seg.png".encode(), 7, "seg.png")


@pytest.mark.parametrize("key", ["x" * 300, "ü" * 90, "y/" * 200 + "z"])
@pytest.mark.parametrize("format", FORMATS[1:])
def test_names_that_need_a_record_of_their_own_are_read(key: str, format: int) -> None:
    assert [sample.key for sample in unpack_shard(archive([f"{key}.png", f"{key}.cls", "b.png", "b.cls"], format))] == [
        key,
        "b",
    ]


@given(name=st.text(st.sampled_from("ab./"), min_size=1, max_size=12))
def test_a_key_ends_where_webdatasets_does(name: str) -> None:
    theirs = pytest.importorskip("webdataset.tariterators").base_plus_ext
    found = shards._KEY.match(name)
    assert (found.groups() if found else (None, None)) == theirs(name)


def test_what_else_a_sample_has_is_passed_over_and_two_images_are_refused() -> None:
    (sample,) = unpack_shard(archive(["a.json", "a.png", "a.txt", "a.cls", "README", ".hidden"], FORMATS[0]))
    assert (sample.key, sample.extension, sample.image) == ("a", "png", b"a.png")
    for names in (["a.png", "a.jpg", "a.cls"], ["a.json", "a.txt", "a.cls"]):
        with pytest.raises(ValueError, match="must have one image and one label"):
            list(unpack_shard(archive(names, FORMATS[0])))
    with pytest.raises(ValueError, match="sample 'a' has 'png' twice"):
        list(unpack_shard(archive(["a.png", "a.cls", "a.png", "a.cls"], FORMATS[0])))


def test_webdataset_reads_our_shards_and_we_read_its(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    samples = digit_samples(12)
    with webdataset.TarWriter(str(tmp_path / "theirs.tar")) as writer:
        for sample in samples:
            writer.write({"__key__": sample.key, "png": sample.image, "cls": str(sample.label).encode()})
    assert list(read_shard(tmp_path / "theirs.tar")) == samples

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its files to be closed by whoever cleans up
        paths = [str(path) for path in write_shards(samples, tmp_path / "ours", 5)]
        stream = webdataset.WebDataset(paths, shardshuffle=False)
        assert [Sample(s["__key__"], s["png"], int(s["cls"])) for s in stream] == samples
        gc.collect()


def test_squares_of_photographs_have_their_size_and_alternate() -> None:
    samples = photo_samples(4, side=24)
    assert [sample.label for sample in samples] == [0, 1, 0, 1]
    assert {pixels(sample).shape for sample in samples} == {(24 * 24 * 3,)}
    assert photo_samples(4, side=24) == samples != photo_samples(4, side=24, seed=1)
    with pytest.raises(ValueError, match="from 1 to 427 pixels, got 428"):
        photo_samples(1, side=428)


def test_what_is_forgotten_can_be_read_again(tmp_path: Path) -> None:
    paths = write_files(FEW, tmp_path)
    forget(paths)
    assert list(map(behind_latency(read_file, open_s=0.0), paths)) == FEW


def test_timing_counts_samples_and_bytes() -> None:
    reading = time_samples(FEW)
    assert (reading.samples, reading.image_bytes) == (3, 1025)


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_the_fastest_of_some_times_reads_each_file_so_often(tmp_path: Path, threads: int) -> None:
    paths, seen = write_files(FEW, tmp_path), []
    rate = files_per_s(lambda path: (seen.append(path), read_file(path))[1], paths, threads, times=4)
    assert rate > 0
    assert sorted(seen) == sorted(4 * paths)
    with pytest.raises(ValueError, match="times must be at least 1, got 0"):
        files_per_s(read_file, paths, times=0)


@pytest.mark.parametrize("count", [0, 1798])
def test_there_are_1797_digits(count: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 1797"):
        digit_samples(count)


def test_a_shard_holds_a_sample(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        write_shards(FEW, tmp_path, 0)


@pytest.mark.parametrize("folder", ["", "train/", "a.b/", "./", "./train/"])
@pytest.mark.parametrize(
    "hidden",
    ["._{}", ".{}", ".DS_Store", ".cache/{}", ".ipynb_checkpoints/{}", "__MACOSX/._{}", "__MACOSX/{}"]
    + ["Thumbs.db", "desktop.ini"],
)
def test_hidden_files_of_a_shard_are_of_no_sample_wherever_they_lie(folder, hidden):
    stream = BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in {"1.png": b"picture", "1.cls": b"7"}.items():
            for path in (f"{folder}{hidden.format(name)}", f"{folder}{name}"):
                member = tarfile.TarInfo(path)
                member.size = len(content)
                archive.addfile(member, BytesIO(content))
    assert [(each.key, each.label) for each in unpack_shard(stream.getvalue())] == [(f"{folder}1", 7)]


NO_NAME, HIDDEN = "a key ends at the first dot of its last component", "a key must not be hidden"


@pytest.mark.parametrize(
    ("key", "words"),
    [("", NO_NAME), ("train/", NO_NAME), (".1", NO_NAME), ("train/.1", NO_NAME), (".cache/1", HIDDEN)]
    + [("a/.b/1", HIDDEN), ("__MACOSX/1", HIDDEN)],
)
def test_a_key_that_would_be_hidden_is_not_packed(key, words):
    with pytest.raises(ValueError, match=words):
        pack_shard([Sample(key, b"picture", 7)])
