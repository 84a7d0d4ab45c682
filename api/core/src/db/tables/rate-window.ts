export type RateWindowTable = {
  /** Whose requests are counted, such as `workspace:<id>`. */
  subject: string
  /** The window: whole minutes since the Unix epoch, by the database's clock. */
  minute: number
  /** Requests asked for in it; above the limit lie only those refused by the last statement. */
  used: number
  /** The limit that the last statement went by. */
  last_limit: number
}
