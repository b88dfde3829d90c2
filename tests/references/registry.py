"""Which test checks which method against code that shares nothing with the library.

A test is named by its path below ``tests`` and its function. Its reference is a conic solver, rational arithmetic,
SciPy, LIBSVM, LIBLINEAR, scikit-learn or a plain loop over the textbook's definition; ``test_registry.py`` fails if a
method or a public name has none.
"""

from __future__ import annotations

EXACT = "references/test_exact_machines.py::"
CONIC = "references/test_convex_solver.py::"
FOREIGN = "references/test_foreign_certificates.py::"
LINEAR = "references/test_linear_models.py::"
INSPECTION = "references/test_inspection_by_hand.py::"
PIECES = "references/test_textbook_pieces_by_hand.py::"
CLASSES = "references/test_classes_by_hand.py::"
SQUARES = "references/test_squares_and_maps_by_hand.py::"
SEARCHES = "references/test_searches_by_hand.py::"
LOSS = "unit/test_losses.py::test_a_loss_is_its_formula"
PENALTY = "unit/test_penalties.py::test_a_penalty_is_its_formula"
KERNEL = "unit/test_kernels.py::test_a_kernel_is_its_formula"
SEARCH = SEARCHES + "test_search_is_a_loop_over_cells_and_folds"

#: The methods of docs/theory.md, in its order, with the tests of each.
METHODS: dict[str, tuple[str, ...]] = {
    "Functional and geometric margin": (INSPECTION + "test_margins_by_the_expansion",),
    "Zones": (INSPECTION + "test_zones_of_a_line",),
    "Status of a training row": (INSPECTION + "test_status_is_that_of_the_exact_optimum",),
    "Bounds from margins": (
        INSPECTION + "test_novikoffs_bound_by_a_conic_solver_and_a_perceptron_by_a_loop",
        INSPECTION + "test_margin_error_bound_is_the_formula",
    ),
    "Hard margin": (EXACT + "test_hard_margin", EXACT + "test_no_hard_margin"),
    "Soft margin": (EXACT + "test_soft_margin", EXACT + "test_weighted_soft_margin"),
    "Conditions of optimality": (INSPECTION + "test_conditions_of_a_rough_fit_by_loops", EXACT + "test_soft_margin"),
    "Duality gap": (
        FOREIGN + "test_certificate_of_a_foreign_model_is_the_objective_of_libsvm",
        INSPECTION + "test_certain_labels_hold_the_exact_scores",
    ),
    "Two forms of the score": (INSPECTION + "test_both_forms_of_the_score",),
    "Dual gradient ascent": (
        EXACT + "test_other_solvers_of_the_soft_margin",
        CONIC + "test_gradient_ascent_encloses_the_same_value",
    ),
    "Regression and one class": (
        EXACT + "test_tube",
        EXACT + "test_tube_of_nu_is_the_tube_given",
        EXACT + "test_nu_machine_is_the_soft_margin_of_its_margin",
        EXACT + "test_one_class",
        EXACT + "test_smallest_ball",
    ),
    "Losses": (LOSS,),
    "Penalties": (PENALTY, "unit/test_penalties.py::test_the_prox_is_what_a_minimiser_finds"),
    "Known methods as pairs": (
        LINEAR + "test_ridge_is_squared_loss_and_l2",
        LINEAR + "test_lasso_is_squared_loss_and_l1",
        LINEAR + "test_logistic_regression_is_logistic_loss_and_l2",
        "estimators/test_stochastic.py::test_the_perceptron_makes_scikit_learns_steps",
    ),
    "Batch subgradient descent": (SQUARES + "test_batch_subgradient_descent_is_a_loop",),
    "Pegasos": ("estimators/test_stochastic.py::test_pegasos_makes_the_steps_of_the_paper",),
    "Stochastic gradient descent in seasons": (
        "estimators/test_stochastic.py::test_sgd_makes_the_steps_of_its_schedule",
    ),
    "Pegasos with a kernel": ("estimators/test_kernel_online.py::test_pegasos_makes_the_steps_of_the_paper",),
    "Perceptron": (
        INSPECTION + "test_novikoffs_bound_by_a_conic_solver_and_a_perceptron_by_a_loop",
        CLASSES + "test_kernel_perceptron_is_a_loop",
    ),
    "Scaling of features": (SQUARES + "test_scaling_is_by_weighted_deviations",),
    "Cross-validation": (SEARCH,),
    "Regularisation path": (SEARCHES + "test_exact_path_is_rational_arithmetics",),
    "Leave-one-out": (
        INSPECTION + "test_leave_one_out_by_libsvm",
        SEARCHES + "test_leave_one_out_residuals_are_those_of_refits",
    ),
    "Schemes for many classes": (
        CLASSES + "test_votes_with_ties_by_summed_scores",
        CLASSES + "test_one_against_the_rest_takes_the_largest_score",
        CLASSES + "test_nearest_word_wins",
        CLASSES + "test_one_problem_for_all_classes_by_a_conic_solver",
        "estimators/test_many_classes.py::test_single_problems_agree_with_an_independent_solver",
    ),
    "Multinomial logistic regression": (
        CLASSES + "test_softmax_by_scipy",
        CLASSES + "test_softmax_is_scikit_learns_logistic_regression",
        "estimators/test_softmax.py::test_certificates_in_sixty_digits",
    ),
    "Probabilities": (
        CLASSES + "test_platts_sigmoid_by_scipy",
        CLASSES + "test_isotonic_probabilities_by_pooling",
        CLASSES + "test_venn_abers_by_two_fits_per_score",
    ),
    "Conformal prediction sets": (CLASSES + "test_prediction_sets_by_counting",),
    "Positive semi-definite kernels": (SQUARES + "test_mercer_by_eigenvalues",),
    "Kernels made of kernels": (KERNEL, "unit/test_kernels.py::test_what_is_not_a_kernel_is_refused_with_the_reason"),
    "Standard kernels": (KERNEL, SQUARES + "test_names_are_the_kernels_of_scikit_learn"),
    "Explicit maps": (SQUARES + "test_products_in_every_order",),
    "Kernel least squares": (
        SQUARES + "test_kernel_least_squares_is_a_linear_system",
        SQUARES + "test_without_a_ridge_it_is_the_pseudo_inverse_and_the_linear_form",
    ),
    "Kernel discriminants": ("estimators/test_discriminant.py::test_solution_is_that_of_the_generalised_eigenproblem",),
}

#: The rooms of the playground.
ROOMS: dict[str, tuple[str, ...]] = {
    "svm": ("playground/test_playground_svm.py::test_scores_and_statuses_are_the_librarys",),
    "loss": (
        SQUARES + "test_losses_of_many_classes_by_loops",
        "playground/test_loss_room.py::test_gradients_are_those_of_finite_differences",
    ),
    "kernel": ("playground/test_kernel_room.py::test_the_gram_matrix_is_the_kernel_s_sorted_by_class",),
    "neural": ("playground/test_neural_room.py::test_the_code_on_the_page_gives_the_numbers_on_the_page",),
}

#: Every public estimator and function, with a test that uses it.
NAMES: dict[str, str] = {
    # in the place of scikit-learn's
    "l1_min_c": "accel/test_patch.py::test_weights_leave_0_just_above_the_least_cost",
    "patch_sklearn": "accel/test_patch.py::test_every_name_is_ours_inside_and_theirs_after",
    "patched_sklearn": "accel/test_patch.py::test_every_name_is_ours_inside_and_theirs_after",
    "selection.l1_min_c": "accel/test_patch.py::test_weights_leave_0_just_above_the_least_cost",
    "unpatch_sklearn": "accel/test_patch.py::test_patching_twice_is_patching_once",
    # machines
    "LSSVC": SQUARES + "test_least_squares_machine_is_a_bordered_system",
    "SGDSVC": "estimators/test_stochastic.py::test_sgd_makes_the_steps_of_its_schedule",
    "SVC": EXACT + "test_soft_margin",
    "SVDD": EXACT + "test_smallest_ball",
    "SVR": EXACT + "test_tube",
    "KernelDiscriminantAnalysis": METHODS["Kernel discriminants"][0],
    "KernelLeastSquares": SQUARES + "test_kernel_least_squares_is_a_linear_system",
    "KernelPegasosSVC": METHODS["Pegasos with a kernel"][0],
    "KernelPerceptron": CLASSES + "test_kernel_perceptron_is_a_loop",
    "LinearClassifier": SQUARES + "test_batch_subgradient_descent_is_a_loop",
    "LinearRegressor": LINEAR + "test_ridge_is_squared_loss_and_l2",
    "LinearSVC": EXACT + "test_linear_soft_margin",
    "LinearSVR": EXACT + "test_rows_with_two_targets_and_one_row",
    "NuSVC": EXACT + "test_nu_machine_is_the_soft_margin_of_its_margin",
    "NuSVR": EXACT + "test_tube_of_nu_is_the_tube_given",
    "OneClassSVM": EXACT + "test_one_class",
    "PegasosSVC": METHODS["Pegasos"][0],
    "Perceptron": METHODS["Bounds from margins"][0],
    "certify": FOREIGN + "test_certificate_of_a_foreign_model_is_the_objective_of_libsvm",
    # selection
    **{
        f"selection.{name}": SEARCH
        for name in (
            "KernelLeastSquaresCV",
            "LinearClassifierCV",
            "LinearRegressorCV",
            "LinearSVCCV",
            "LinearSVRCV",
            "NuSVCCV",
            "NuSVRCV",
            "PegasosSVCCV",
            "SGDSVCCV",
            "SVCCV",
            "SVRCV",
        )
    },
    "selection.leave_one_out_residuals": SEARCHES + "test_leave_one_out_residuals_are_those_of_refits",
    "selection.regularization_path": SEARCHES + "test_exact_path_is_rational_arithmetics",
    # inspection
    "inspection.certified_labels": INSPECTION + "test_certain_labels_hold_the_exact_scores",
    "inspection.explain": INSPECTION + "test_both_forms_of_the_score",
    "inspection.kkt": INSPECTION + "test_conditions_of_a_rough_fit_by_loops",
    "inspection.lagrangian": PIECES + "test_the_lagrangian_is_the_textbooks_sum",
    "inspection.least_mistakes": PIECES + "test_least_mistakes_by_all_splits_and_linear_programmes",
    "inspection.leave_one_out": INSPECTION + "test_leave_one_out_by_libsvm",
    "inspection.tolerance": "estimators/test_inspection.py::test_every_part_of_inspection_goes_by_the_same_tolerance",
    "inspection.margin_error_bound": INSPECTION + "test_margin_error_bound_is_the_formula",
    "inspection.margins": INSPECTION + "test_margins_by_the_expansion",
    "inspection.mistake_bound": METHODS["Bounds from margins"][0],
    "inspection.pegasos_bound": PIECES + "test_the_mean_of_pegasos_iterates_is_within_its_bound",
    "inspection.scatter_matrices": PIECES + "test_scatters_by_loops",
    "inspection.separation": METHODS["Bounds from margins"][0],
    "inspection.status": INSPECTION + "test_status_is_that_of_the_exact_optimum",
    "inspection.support_table": INSPECTION + "test_influence_and_table_by_hand",
    "inspection.zones": INSPECTION + "test_zones_of_a_line",
    # probabilities
    "calibration.fit_calibrator": CLASSES + "test_platts_sigmoid_by_scipy",
    "calibration.fit_conformal": CLASSES + "test_prediction_sets_by_counting",
    "calibration.fit_isotonic": CLASSES + "test_isotonic_probabilities_by_pooling",
    "calibration.fit_sharpness": CLASSES + "test_sharpness_by_scipy",
    "calibration.fit_sigmoid": CLASSES + "test_platts_sigmoid_by_scipy",
    "calibration.fit_venn_abers": CLASSES + "test_venn_abers_by_two_fits_per_score",
    "calibration.sharpened": CLASSES + "test_sharpness_by_scipy",
    # losses and penalties
    **{
        f"losses.{name}": LOSS
        for name in (
            "Absolute",
            "EpsilonInsensitive",
            "Exponential",
            "Hinge",
            "Huber",
            "Logistic",
            "PerceptronLoss",
            "Pinball",
            "Sigmoid",
            "Squared",
            "SquaredEpsilonInsensitive",
            "SquaredHinge",
            "ZeroOne",
        )
    },
    "losses.resolve_loss": "unit/test_losses.py::test_every_name_resolves_to_its_loss",
    **{f"penalties.{name}": PENALTY for name in ("ElasticNet", "L0", "L1", "L2", "NoPenalty", "PNorm")},
    "penalties.project_to_ball": "unit/test_penalties.py::test_projections_end_at_the_nearest_point",
    "penalties.resolve_penalty": "unit/test_penalties.py::test_every_name_resolves_to_its_penalty",
    # kernels and maps
    **{
        f"kernels.{name}": KERNEL
        for name in (
            "ChiSquared",
            "Constant",
            "Cosine",
            "Exponential",
            "Function",
            "Gaussian",
            "Laplacian",
            "Linear",
            "Matern",
            "Polynomial",
            "QuadraticForm",
            "RationalQuadratic",
            "Sigmoid",
        )
    },
    "kernels.Objects": "estimators/test_called_kernels.py::test_objects_are_a_kernel_in_the_algebra",
    "kernels.Precomputed": SQUARES + "test_names_are_the_kernels_of_scikit_learn",
    "kernels.check_mercer": SQUARES + "test_mercer_by_eigenvalues",
    "kernels.resolve_kernel": SQUARES + "test_names_are_the_kernels_of_scikit_learn",
    "kernels.takes_any_rows": SQUARES + "test_names_are_the_kernels_of_scikit_learn",
    "maps.NystroemMap": SQUARES + "test_landmarks_by_the_pseudo_inverse",
    "maps.PolynomialMap": SQUARES + "test_products_in_every_order",
    "maps.RandomFourierMap": SQUARES + "test_waves_of_the_frequencies",
    "maps.choose_landmarks": SQUARES + "test_landmarks_by_the_pseudo_inverse",
    "maps.distinct_rows": SQUARES + "test_landmarks_by_the_pseudo_inverse",
    "maps.MappedDesign": "estimators/test_approximation.py::test_mapped_design_is_the_map",
    # schemes
    "multiclass.CodeWords": CLASSES + "test_nearest_word_wins",
    "multiclass.OneVsOne": CLASSES + "test_votes_with_ties_by_summed_scores",
    "multiclass.OneVsRest": CLASSES + "test_one_against_the_rest_takes_the_largest_score",
    "multiclass.make_scheme": CLASSES + "test_votes_with_ties_by_summed_scores",
    "multiclass.make_words": CLASSES + "test_nearest_word_wins",
}

#: Public names that compute nothing: what functions return, and what others derive from.
WITHOUT: dict[str, tuple[str, ...]] = {
    "maxmargin": ("Certificate", "NotSeparableError"),
    "calibration": ("Conformal", "Isotonic", "Sigmoid", "VennAbers"),
    "inspection": (
        "CertifiedLabels", "Explanation", "KKT", "Lagrangian", "LeastMistakes", "LeaveOneOut", "MarginErrorBound",
        "Margins", "MistakeBound", "PegasosBound", "ScatterMatrices", "Statuses", "TaskExplanation", "TaskKKT",
        "TaskLagrangian",
    ),
    "kernels": ("Code", "Kernel", "KernelProof", "MercerCheck", "Op", "Program", "require_consistent", "values_of"),
    "losses": ("DualForm", "Loss", "Quadratic"),
    "multiclass": ("BinaryTask", "EndToEnd", "Fired", "Scheme"),
    "penalties": ("Penalty",),
    "selection": ("Path",),
}  # fmt: skip
