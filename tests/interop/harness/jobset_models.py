"""jobset_models.py: a JobSet through the models generated from its OpenAPI schema, JSON to JSON."""

import json
import sys

from kubeflow_trainer_api import models

jobset = models.JobsetV1alpha2JobSet.from_dict(json.load(sys.stdin))
json.dump(jobset.to_dict(), sys.stdout)
