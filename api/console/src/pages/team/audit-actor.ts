type Names = Readonly<Record<'apiKey' | 'operator' | 'system' | 'erased', string>>
type Actor = { readonly actorKind: string; readonly actorName: string | null }

/** Name of the actor of a change. A later release may have kinds that this page does not know: their API name is shown. */
export function actorOf(names: Names, { actorKind, actorName }: Actor): string {
  if (actorKind === 'api-key') return actorName === null ? names.apiKey : `${actorName} (${names.apiKey})`
  if (actorName !== null) return actorName
  if (actorKind === 'operator' || actorKind === 'matte-admin') return names.operator
  if (actorKind === 'system') return names.system
  return actorKind === 'member' ? names.erased : actorKind
}
