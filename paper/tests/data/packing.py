"""Pack bytes as the sources do."""

import io
import tarfile
import zipfile


def zipped(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def tarred(files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return content.getvalue()


def compress(content, widest=16, clear_after=None):
    """Pack bytes as the Unix program does. ``clear_after`` empties the table after so many words."""
    groups, codes, width = [], [], 9
    table = {bytes([k]): k for k in range(256)}
    used, decoded = 257, 256  # words of this table, and of the reader's, which is one behind

    def close():
        nonlocal codes
        while len(codes) % 8:
            codes.append(0)
        number = sum(code << width * k for k, code in enumerate(codes))
        groups.append(number.to_bytes(len(codes) * width // 8, "little"))
        codes = []

    def put(code):
        nonlocal width, decoded
        codes.append(code)
        decoded += 1
        if decoded >= 1 << width and width < widest:
            close()
            width += 1

    word = b""
    for k in range(len(content)):
        longer = word + content[k : k + 1]
        if longer in table:
            word = longer
            continue
        put(table[word])
        if used < 1 << widest:
            table[longer] = used
            used += 1
        word = content[k : k + 1]
        if clear_after and used >= clear_after:
            put(256)
            close()
            table = {bytes([k]): k for k in range(256)}
            used, decoded, width = 257, 256, 9
    if word:
        put(table[word])
    number = sum(code << width * k for k, code in enumerate(codes))
    groups.append(number.to_bytes(-(-len(codes) * width // 8), "little"))
    return bytes([0x1F, 0x9D, 128 + widest]) + b"".join(groups)
