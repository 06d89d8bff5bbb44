import pytest

from engines.redact import redact, without_credentials


@pytest.mark.parametrize("name", ["token", "hf_token", "API_KEY", "apikey", "x-api-key", "password", "Authorization", "secret"])
def test_texts_with_the_name_of_a_secret_are_hidden(name):
    assert redact({name: "s3cret", "deep": [{name: "s3cret"}]}) == {name: "***", "deep": [{name: "***"}]}


@pytest.mark.parametrize("name", ["max_tokens", "tokenizer", "keyboard", "end_token_id"])
def test_other_names_stay(name):
    assert redact({name: "value"}) == {name: "value"}


def test_numbers_and_switches_are_no_secrets():
    assert redact({"token": True, "secret": 3, "password": None}) == {"token": True, "secret": 3, "password": None}


def test_json_texts_are_looked_into():
    assert redact({"extra": '{"api_key": "s3cret", "n": 1}'}) == {"extra": '{"api_key": "***", "n": 1}'}
    assert redact({"extra": "{not json"}) == {"extra": "{not json"}


def test_urls_lose_their_credentials_and_nothing_else():
    assert without_credentials("https://me:pw@host:8000/v1?x=1") == "https://host:8000/v1?x=1"
    assert without_credentials("mail me@host") == "mail me@host"
    assert redact(["http://me@host/"]) == ["http://host/"]
