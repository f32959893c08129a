// What our code needs of a logger (pino fits it), so that pure parts and tests need none of it.

export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
