"""Folders of documents in Annif's layout, in German and in Swedish, trained without any option."""

import json

import pytest

pytestmark = pytest.mark.native

GERMAN = {
    "Straßen": [
        "Die Straßen der Stadt werden im Sommer erneuert. Auf der Straße fahren viele Autos.",
        "Ein Schlagloch in der Straße wurde gemeldet, und die Autos mussten langsamer fahren.",
        "Für den Bau neuer Straßen fehlt der Gemeinde das Geld, sagte der Bürgermeister.",
        "Der Verkehr auf den Straßen hat zugenommen, deshalb werden Ampeln aufgestellt.",
    ],
    "Bäume": [
        "In den Wäldern stehen alte Bäume, unter denen im Herbst Pilze wachsen.",
        "Der Förster pflanzte einen Baum, weil der Sturm viele Bäume umgeworfen hatte.",
        "Das Laub der Bäume fällt im Herbst, und die Äste des Baumes bleiben kahl.",
        "Im Wald wurden kranke Bäume gefällt, damit die anderen gesund bleiben.",
    ],
}
SWEDISH = {
    "båtar": [
        "Båtarna ligger vid bryggan hela sommaren, och på hösten tas varje båt upp på land.",
        "Han seglade med sin båt mellan öarna och såg många andra båtar på havet.",
        "En gammal båt av trä kräver mycket arbete innan den kan sjösättas på våren.",
        "På sjön möttes båtarna, och fiskarna vinkade åt varandra från sina båtar.",
    ],
    "skolor": [
        "Eleverna i skolan läser svenska och matematik, och skolans lärare är duktiga.",
        "Kommunen bygger två nya skolor, eftersom antalet elever har ökat varje år.",
        "Skolorna är stängda på lördagar, men eleverna får låna böcker i skolans bibliotek.",
        "Läraren skrev på tavlan, och eleverna i skolan antecknade allt hon sade.",
    ],
}
NAMES = {"de": "German", "sv": "Swedish"}
CASES = {
    "de": (GERMAN, "Auf einer Straße standen Autos", "Straßen"),
    "sv": (SWEDISH, "Vi köpte en båt", "båtar"),
}


@pytest.mark.parametrize("language", CASES)
@pytest.mark.parametrize("layout", ["key", "tsv"])
def test_a_folder_of_documents_is_trained_without_options(run, tmp_path, language, layout):
    pytest.importorskip("simplemma")
    pytest.importorskip("py3langid")
    documents, text, label = CASES[language]
    folder = tmp_path / "documents"
    folder.mkdir()
    for subject, texts in documents.items():
        for number, content in enumerate(texts * 3):
            name = f"{subject}-{number}"
            (folder / f"{name}.txt").write_text(content, encoding="utf-8")
            line = (
                f"{subject}\n"
                if layout == "key"
                else f"<http://example.org/{subject}>\t{subject}\n"
            )
            (folder / f"{name}.{layout}").write_text(line, encoding="utf-8")
    model = tmp_path / "model"
    code, _, notes = run("train", folder, "-o", model)
    assert code == 0, notes
    assert f"texts in {language}: " in notes or f"texts in {NAMES[language]}: " in notes, notes
    (tmp_path / "new.txt").write_text(text + "\n", encoding="utf-8")
    code, out, errors = run("predict", model, tmp_path / "new.txt", "--json")
    assert code == 0, errors
    (answer,) = [json.loads(line) for line in out.splitlines()]
    wanted = label if layout == "key" else f"http://example.org/{label}"
    assert answer["labels"] == [wanted]
