"""Value_and_grad … hessian, vmap, rules of one's own; llgrad check, grad, explain."""
