"""Which encoding a text is in, where it does not say: Western ones by preference, others where their letters speak for it."""

from __future__ import annotations

import pytest

from proctor.corpus.ingest.decoding import decode_text
from proctor.corpus.ingest.reading import CannotReadError

WESTERN = {
    "French": "À côté de la forêt, le château est ouvert. Ajoutez l’œuf et mélangez. Où est la crème brûlée ?",
    "Spanish": "El niño añade azúcar. ¿Dónde está el cuchillo? ¡Cuidado con el fogón a 180 °C!",
    "German": "Die Eier schlagen und das Mehl hinzufügen. Größe prüfen, „Öl“ erhitzen, süß abschmecken.",
    "Italian": "Perché il caffè è già pronto: così può bere più tardi. La città è là.",
    "Portuguese": "Adicione a maçã e o pão à frigideira. Não é difícil: três colheres de açúcar e opções.",
    "Swedish": "Häll i mjölken och rör om. Sätt på locket och låt stå på värme i två minuter.",
    "Danish": "Hæld mælken i gryden og rør rundt. Læg låget på og lad det stå på varmen.",
    "Norwegian": "Tilsett fløte og rør. Kok opp på høy varme, så er grøten ferdig på bålet.",
    "Dutch": "Voeg de crème toe en roer één keer. Drieëntwintig coördinaten in België.",
    "Finnish": "Lisää sokeri ja sekoita hyvin. Anna jäähtyä pöydällä, ei jääkaapissa.",
    "Catalan": "Afegiu la col·lecció: això és només per a l’amanida, després remeneu-ho amb força.",
    "Icelandic": "Bætið við mjólk og hrærið. Setjið lokið á og látið það standa í tvær mínútur.",
    "English": "Don’t stir — it’s “ready” when the café opens… at 5½ minutes.",
    "one word": "niño",
    "one short word": "Été",
}
OTHERS = {
    "cp1250": "Dodaj mąkę i mieszaj, aż ciasto będzie gładkie. Później wstaw na pięć minut.",
    "iso8859-2": "Přidejte mouku a míchejte, dokud není těsto hladké. Šťáva je žlutá.",
    "cp1250 ": "Adjuk hozzá a lisztet, és keverjük addig, amíg sima lesz. Süssük öt percig a sütőben, majd hűtsük le.",
    "cp1254": "Unu ekleyin ve karıştırın. Sonra beş dakika fırında pişirin. Şekeri ılık suda çözün, değiştirmeyin.",
    "cp1257": "Įpilkite pieno ir išmaišykite. Uždėkite dangtį ir palikite šiltoje vietoje.",
    "iso8859-15": "L'œuf coûte 3 €. Le cœur de la sœur est à côté du bœuf.",
    "cp1251": "Добавьте муку и перемешайте. Затем выпекайте пять минут в духовке.",
    "cp1253": "Προσθέστε το αλεύρι και ανακατέψτε. Στη συνέχεια ψήστε για πέντε λεπτά στον φούρνο.",
    "shift_jis": "小麦粉を加えて混ぜます。その後、オーブンで五分間焼きます。熱いので注意してください。",
    "gb18030": "加入面粉搅拌均匀。然后放入烤箱烤五分钟。小心烫手,等凉了再吃。",
}


@pytest.mark.parametrize("language", WESTERN)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize("times", [1, 40])
def test_western_text_is_read_as_it_was_written(language: str, encoding: str, times: int) -> None:
    plain = WESTERN[language].translate(str.maketrans("’“”„—…œ", '\'"""-.o'))
    text = "\n".join([WESTERN[language] if encoding == "cp1252" else plain] * times)
    found = decode_text(text.encode(encoding))
    assert (found.text, found.encoding, found.guessed) == (text, "cp1252", True)


@pytest.mark.parametrize("encoding", OTHERS)
def test_other_letters_are_no_western_ones(encoding: str) -> None:
    assert decode_text(OTHERS[encoding].encode(encoding.strip())).text == OTHERS[encoding]


def test_a_few_foreign_names_do_not_change_the_encoding() -> None:
    text = WESTERN["French"] * 10 + " Škoda, Müller, Señor Núñez, Ångström"
    assert decode_text(text.encode("cp1252")).text == text


def test_a_page_that_says_latin_1_means_windows_1252() -> None:
    data = '<meta charset="ISO-8859-1"><p>L’œuf'.encode("cp1252")
    assert decode_text(data, html=True) == ('<meta charset="ISO-8859-1"><p>L’œuf', "iso-8859-1", False)


def test_bytes_of_a_picture_are_no_text() -> None:
    with pytest.raises(CannotReadError, match="NUL"):
        decode_text(b"\x89PNG\r\n\x1a\n\0\0")
