/** Values of `type`: those of the parameter, and the finer ones that `X-Type` had with `type_level=2`. */
export const removebgTypes = [
  'auto',
  'person',
  'product',
  'car',
  'animal',
  'graphic',
  'transportation',
  'other',
  'car_interior',
  'car_part',
  'graphics',
] as const

export type RemovebgType = (typeof removebgTypes)[number]
