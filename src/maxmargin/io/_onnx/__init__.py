"""The ONNX export, one concern per module; everything here is imported when the first model is exported.

``_graph`` writes nodes and ``_table`` holds columns on their way; ``_kernels``, ``_sums``, ``_decisions``,
``_machines``, ``_steps``, ``_encoders`` and ``_pipeline`` translate; ``_inputs`` and ``_sample`` make inputs and rows
to check with, ``_check`` compares, and ``_write`` does it all in order.
"""
