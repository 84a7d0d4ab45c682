/** So many calendar months later, or earlier; the 31st becomes the last day of a shorter month. UTC. */
export function addMonths(date: Date, months: number): Date {
  const moved = new Date(date)
  moved.setUTCMonth(moved.getUTCMonth() + months, 1)
  const lastDay = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate()
  moved.setUTCDate(Math.min(date.getUTCDate(), lastDay))
  return moved
}
