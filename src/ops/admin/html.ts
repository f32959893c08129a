// Escapes text in HTML templates.

/** HTML that needs no escaping; only markup`` makes it. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = string | number | Html | readonly Html[]

/** Fills a template and escapes all parts that are not Html. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const text = strings.reduce((before, piece, index) => {
    const part = parts[index - 1]
    return `${before}${part === undefined ? '' : show(part)}${piece}`
  })
  return new Html(text)
}

function show(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part))
  return part.map(({ text }) => text).join('')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '')
