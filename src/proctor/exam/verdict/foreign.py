"""Claims in other languages than English: plain forms of a dozen of them."""

from __future__ import annotations

import re
from typing import Final

from proctor.exam.verdict.label import any_case
from proctor.exam.verdict.reading import BOTTOM, MIDDLE, TOP, Claim, Level

__all__ = ["ENGLISH_LETTERS", "foreign_claim"]

_ANSWER: Final = r"antwort|vorhersage|réponse|prédiction|respuesta|predicción|risposta|previsione|resposta|previsão|antwoord|voorspelling|odpowiedź|svar(?:et)?|cevap|yanıt|ответ|предсказание|відповідь|απάντηση|الإجابة|الجواب|उत्तर|जवाब|答案|回答|预测|預測|答え|応答|답변|대답|예측|응답"
_FOREIGN_NOT: Final = r"nicht|kein(?:e[nmrs]?)?|aucun|pas|aucune?|non|no|não|niet|geen|nie|inte|ikke|değil|не|нет|δεν|ليست?|غير|नहीं|不|没有|沒有|未|ない|ません|않|아니|아닙|못"
_FOREIGN: Final[tuple[tuple[str, frozenset[Level]], ...]] = (
    (
        r"teil(?:weise|s)|zum\s+teil|halb|hälfte|mitad|metade|metà|mezza|moitié|половин\w*|unvollständig|partiellement|en\s+partie|à\s+moitié|incomplète?|parcialmente|parcial|en\s+parte|a\s+medias|parzial\w*|in\s+parte|em\s+parte|gedeeltelijk|deels|częściowo|delvis|kısmen|частичн\w*|частково|наполовину|εν\s+μέρει|جزئي\w*|आंशिक|部分|一部|一半|半分|부분",
        MIDDLE,
    ),
    (
        r"falsch\w*|unrichtig|inkorrekt|verkehrt|verfehlt|faux|fausse|incorrect[aeo]s?|incorrecte|erronée?|inexacte?|errad[ao]|errónea?|equivocad[ao]|sbagliat[ao]|errat[ao]|scorrett[ao]|fout|onjuist|verkeerd|błędn\w*|niepoprawn\w*|nieprawidłow\w*|fel(?:aktigt?)?|forkert|feil|yanlış|hatalı|неверн\w*|неправильн\w*|ошибочн\w*|невірн\w*|неправильн\w*|λάθος|λανθασμέν\w*|خاطئ\w*|خطأ|गलत|错误|錯誤|错的|不对|不對|間違\w*|誤り|誤って|不正解|違う|違い|違って|틀렸|틀린|오답|widerspricht|contredit|contradice|contraddice|contradiz|противоречит|矛盾|相反",
        BOTTOM,
    ),
    (
        r"richtig\w*|korrekt\w*|stimmt|übereinstimm\w*|entspricht|correspond(?!ing|s\b|ed|ence\b)\w*|correspondance|concordan?\w*|corrisponde\w*|coinciden\w*|overeen\w*|zutreffend|passt|juste|exacte?|correcte?|correct[ao]s?|corrett[ao]|esatt[ao]|giust[ao]|coincide|certa|certo|juist|goed|klopt|poprawn\w*|prawidłow\w*|rätt|korrekt|riktigt?|rigtigt?|doğru|верн\w*|правильн\w*|вірн\w*|σωστ\w*|صحيح\w*|सही|正确|正確|正しい|正しく|匹配|一致|相符|吻合|符合|正解|맞습|맞다|맞는|정확|정답|일치",
        TOP,
    ),
)
_FOREIGN_LEVELS = tuple(
    (re.compile(rf"(?<![a-zà-ÿа-я])(?:{words})(?![a-zà-ÿа-я])", re.IGNORECASE), allows)
    for words, allows in _FOREIGN
)
_FOREIGN_NEGATION = re.compile(rf"(?<![a-zà-ÿа-яα-ω])(?:n['’]|{_FOREIGN_NOT})", re.IGNORECASE)
_FOREIGN_SUBJECT = re.compile(rf"(?:{_ANSWER})(?!en\b)", re.IGNORECASE)
_FOREIGN_REFERENCE = any_case(
    r"référence|referenz|referencia|referência|riferiment|referentie|эталон|参考|参照|정답"
)
_NO_RELATION = any_case(
    r"\bnichts\b.{0,60}\bzu\s+tun\b|\baucun\s+rapport\b|\bnada\s+que\s+ver\b|\bnada\s+a\s+ver\b|\b(?:niente|nulla)\s+a\s+che\s+(?:fare|vedere)\b|\bniets\s+(?:met|te)\b|не\s+имеет\s+(?:никакого\s+)?отношения|无关|毫不相干|関係(?:が|は)?(?:ない|ありません)|無関係|무관|관련이\s*없"
)
_CANNOT_JUDGE = any_case(
    r"无法(?:判断|评估|评分|确定)|無法(?:判斷|評估)|(?:判断|評価|判定)(?:できま?せん|できない|できかね|しかね)|판단할\s*수\s*없|(?:kann|können)\b.{0,30}\bnicht\b.{0,30}(?:beurteilen|bewerten|entscheiden)|ne\s+peux\s+pas\b.{0,20}(?:juger|évaluer|noter|déterminer)|no\s+puedo\b.{0,20}(?:juzgar|evaluar|puntuar|determinar)|non\s+posso\b.{0,20}(?:giudicare|valutare)|não\s+posso\b.{0,20}(?:julgar|avaliar)|не\s+могу\b.{0,20}(?:оценить|судить|определить)"
)
_FOREIGN_REPORT = any_case(
    r"\b(?:sagt|nennt|behauptet|dit|affirme|indique|dice|afirma|indica|diz|zegt|говорит|утверждает|называет|dass|(?<!est\s)(?<!es\s)que|che|что|Benutzer|Nutzer|usuario|utilisateur|utente)\b|说|指出|提到|用户|使用者|言って|ユーザー|사용자"
)
ENGLISH_LETTERS = any_case(
    r"\b(?:the|answer|prediction|it|everything|this|that|all|correct|right|and|not|was|are)\b"
)


def foreign_claim(clause: str) -> Claim | None:
    """Return what a clause that is not English says of the answer; None where it says nothing, or is not understood."""
    if len(clause) > 400 or ENGLISH_LETTERS.search(clause):
        return None
    if _CANNOT_JUDGE.search(clause):
        return Claim(frozenset(), clause.strip())
    if _NO_RELATION.search(clause) and not _FOREIGN_REPORT.search(clause):
        return Claim(BOTTOM, clause.strip())
    if (
        not _FOREIGN_SUBJECT.search(clause)
        and len(clause.split()) > (6 if _FOREIGN_REFERENCE.search(clause) else 3)
    ) or _FOREIGN_REPORT.search(clause):
        return None
    for pattern, allows in _FOREIGN_LEVELS:
        if found := pattern.search(clause):
            if not _FOREIGN_SUBJECT.search(clause) and len(clause.strip()) > 60:
                return None
            without = clause[: found.start()] + " " + clause[found.end() :]
            if _FOREIGN_NEGATION.search(without):
                if allows is BOTTOM:
                    return None
                allows = BOTTOM if allows is TOP else MIDDLE
            return Claim(allows, clause.strip())
    return None
