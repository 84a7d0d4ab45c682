export type Colour = readonly [red: number, green: number, blue: number]
export type Matrix = readonly [Colour, Colour, Colour]

export const apply = (matrix: Matrix, [x, y, z]: Colour): Colour => {
  const row = ([a, b, c]: Colour): number => a * x + b * y + c * z
  return [row(matrix[0]), row(matrix[1]), row(matrix[2])]
}

export const transpose = ([a, b, c]: Matrix): Matrix => [
  [a[0], b[0], c[0]],
  [a[1], b[1], c[1]],
  [a[2], b[2], c[2]],
]

export function invert([[a, b, c], [d, e, f], [g, h, i]]: Matrix): Matrix {
  const determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
  const divide = (row: Colour): Colour => [row[0] / determinant, row[1] / determinant, row[2] / determinant]
  return [
    divide([e * i - f * h, c * h - b * i, b * f - c * e]),
    divide([f * g - d * i, a * i - c * g, c * d - a * f]),
    divide([d * h - e * g, b * g - a * h, a * e - b * d]),
  ]
}
