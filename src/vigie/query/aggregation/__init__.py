"""sum, topk and their kin, over all steps at once or part by part."""
