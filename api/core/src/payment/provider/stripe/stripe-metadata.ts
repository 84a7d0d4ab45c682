/** In the metadata of everything that we make there. */
export const orderKey = 'matte_order_id'
export const refundKey = 'matte_refund_id'
/** On the line of an invoice that corrects a credit: the plan that was paid for before the change. */
export const unusedKey = 'matte_unused_plan'
