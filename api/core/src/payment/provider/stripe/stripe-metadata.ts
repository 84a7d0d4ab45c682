/** In the metadata of everything that we make there. */
export const orderKey = 'matte_order_id'
export const refundKey = 'matte_refund_id'
