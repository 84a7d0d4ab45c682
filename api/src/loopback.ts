/** Host of a URL that only programs on this machine reach; browsers treat its pages as secure without TLS. */
export const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
