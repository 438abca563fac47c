"""The lists trainers are given: from a plan, its file, or an exported layout."""

import json

import pytest

from planner.errors import InputError, VerificationError
from planner.export import export
from planner.runtime.layout import Layout
from tests.export.plans import encoder_decoder, make_plan


def test_plan_file_and_export_say_the_same(tmp_path):
    plan = encoder_decoder()
    plan.save(tmp_path / "plan.json")
    (tmp_path / "torch.json").write_text(export(plan, "torch")["torch.json"])
    for source in (plan, tmp_path / "plan.json", str(tmp_path / "torch.json"), Layout.of(plan)):
        layout = Layout.of(source)
        assert layout.world == 10
        assert layout.groups == plan.groups
        assert layout.bridge == plan.bridge
        assert layout.meshes["decoder"].tolist() == plan.mesh("decoder").tolist()


def test_host_numbering_arrives_through_the_export(tmp_path):
    job = {"decoder": {"tp": 2, "pp": 2}, "dp": 1}
    plan = make_plan({"cluster": {"nodes": 2, "gpus_per_node": 2}, "job": job}, [0, 2, 1, 3])
    (tmp_path / "torch.json").write_text(export(plan, "torch", "host")["torch.json"])
    layout = Layout.of(tmp_path / "torch.json")
    assert layout.groups["tp"] == [[0, 2], [1, 3]]
    assert layout.coordinates(2) == {"pp": 0, "dp": 0, "cp": 0, "tp": 1}


def test_a_modules_own_families_stay_inside_it():
    layout = Layout.of(encoder_decoder())
    encoder, decoder = layout.modules["encoder"], layout.modules["decoder"]
    assert encoder["tp"] == [[0, 1], [2, 3]]
    assert decoder["tp"] == [[4, 5, 6], [7, 8, 9]]
    assert layout.groups["pp"] == [[0, 4], [0, 5], [1, 6], [2, 7], [2, 8], [3, 9]]
    assert decoder["pp"] == [[4], [5], [6], [7], [8], [9]]
    assert layout.groups["mp"] == [[0, 1, 4, 5, 6], [2, 3, 7, 8, 9]]
    assert (encoder["mp"], decoder["mp"]) == ([[0, 1], [2, 3]], [[4, 5, 6], [7, 8, 9]])


def test_own_embedding_groups_are_first_and_last_stage_of_the_module():
    job = {"encoder": {"pp": 2}, "decoder": {"pp": 3}, "dp": 1}
    plan = make_plan({"cluster": {"nodes": 1}, "job": job}, [0, 1, 2, 3, 4])
    layout = Layout.of(plan)
    assert layout.groups["embd"] == [[0, 4]]
    assert layout.modules["encoder"]["embd"] == [[0, 1]]
    assert layout.modules["decoder"]["embd"] == [[2, 4]]
    assert layout.modules["decoder"]["pos_embd"] == [[2]]


def test_a_rank_outside_the_plan_has_no_place():
    with pytest.raises(KeyError):
        Layout.of(encoder_decoder()).module(10)


def test_a_plan_that_does_not_verify_builds_no_group(tmp_path):
    path = tmp_path / "plan.json"
    encoder_decoder().save(path)
    path.write_text(
        path.read_text().replace('"pp": [[0,4],[0,5],[1,6],[2,7]', '"pp": [[0,4],[0,5],[1,6],[1,7]')
    )
    with pytest.raises(VerificationError, match="groups"):
        Layout.of(path)


@pytest.mark.parametrize(
    "change",
    [
        {"groups": {"tp": [[1, 0]]}},
        {"world_size": 11},
        {"meshes": {"decoder": [0, 1]}},
        {"meshes": 3},
        {"bridge": None, "groups": None},
    ],
)
def test_a_tampered_export_is_refused(tmp_path, change):
    data = json.loads(export(encoder_decoder(), "torch")["torch.json"])
    path = tmp_path / "torch.json"
    path.write_text(json.dumps(data | change))
    with pytest.raises(InputError, match="not an exported layout"):
        Layout.of(path)
