import { MatteError } from '../../error.ts'
import type { PaymentProvider } from './provider.ts'

const refuse = (): never => {
  throw new MatteError('CONFLICT', 'This installation takes no payments.', { details: { provider: 'none' } })
}

/** No payments (D72): whatever would change something is refused. */
export const noProvider: PaymentProvider = {
  name: 'none',
  createCheckout: refuse,
  endCheckout: refuse,
  getOrder: refuse,
  read: refuse,
  refund: refuse,
  changeSubscription: refuse,
  cancelSubscription: refuse,
  resumeSubscription: refuse,
  endSubscription: refuse,
  verifyEvent: refuse,
}
