import { useQueryClient } from '@tanstack/react-query'

const changed = ['orders', 'subscription', 'invoices', 'credits']

/** Reads again everything that a payment changes. */
export function usePaymentChanged(): () => void {
  const queries = useQueryClient()
  return () => {
    for (const name of changed) void queries.invalidateQueries({ queryKey: [name] })
  }
}
