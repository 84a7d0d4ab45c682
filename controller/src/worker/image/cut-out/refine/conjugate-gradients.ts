// Solves A x = b for a symmetric, positive A that is only known by what it makes of a vector (Hestenes, Stiefel 1952).

type System = {
  /** Writes A times the vector. */
  readonly multiply: (vector: Float64Array, product: Float64Array) => void
  /** About 1 / A's diagonal. */
  readonly preconditioner: Float64Array
}

/**
 * Moves `x`, in place, towards the solution. `residual` is b - A x, and becomes what is left of it after so many steps;
 * fewer where nothing is left.
 */
export function conjugateGradients(
  { multiply, preconditioner }: System,
  { x, residual }: { readonly x: Float64Array; readonly residual: Float64Array },
  steps: number,
): void {
  const direction = new Float64Array(x.length)
  const product = new Float64Array(x.length)
  let before = Infinity
  for (let step = 0; step < steps; step++) {
    let size = 0
    for (let i = 0; i < x.length; i++) size += (residual[i] as number) ** 2 * (preconditioner[i] as number)
    const kept = size / before
    before = size
    for (let i = 0; i < x.length; i++) {
      direction[i] = (residual[i] as number) * (preconditioner[i] as number) + kept * (direction[i] as number)
    }
    multiply(direction, product)
    let curvature = 0
    for (let i = 0; i < x.length; i++) curvature += (direction[i] as number) * (product[i] as number)
    if (!(curvature > 0)) return
    const length = size / curvature
    for (let i = 0; i < x.length; i++) {
      x[i] = (x[i] as number) + length * (direction[i] as number)
      residual[i] = (residual[i] as number) - length * (product[i] as number)
    }
  }
}
