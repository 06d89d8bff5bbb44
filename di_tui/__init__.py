"""What people touch: command line and displays. The jobs themselves live in suite_builder, engines and scoring."""
