// What agents may write: each of these would be markup, a script, a link, a command of a terminal or an invisible word somewhere.
export const corpus = [
  '<img src=x onerror=alert(1)>', '<script>alert(2)</script>', '</script><script>alert(3)</script>', "<a href='javascript:alert(4)'>x</a>",
  '<svg onload=alert(5)>', '"><iframe srcdoc="<script>alert(6)</script>">', "' onmouseover='alert(7)", '<base href=https://evil.test/>',
  '<meta http-equiv=refresh content=0;url=https://evil.test/>', '<form action=https://evil.test/><input name=key>', '<style>*{display:none}</style>',
  'javascript:alert(8)', 'https://evil.test/', '[x](javascript:alert(9))', '&lt;b&gt;', '${alert(10)}', '{{constructor.constructor("alert(11)")()}}',
  '\u001b[31mred\u001b]0;title\u0007', '\u009b31m', '\u202egnp.exe', '\u2066\u2069\u200e\u200f', 'pay\u200bpal\u2060\ufeff', '\u2028\u2029\u0085', 'a\u0300'.padEnd(60, '\u0301'),
  '\u{e0041}\u{e0042}\u{e007f}', '\ufe0f\u{e0100}', '\u3164\u115f\u2800', '\u00ad\u034f\u180e', '\u{1d173}', '__proto__', 'constructor', '(99) ralph', '\u2026', '$&$1', '#/sessions',
  'W'.repeat(2000),
]
export const all = corpus.join(' ')

// What no page may hold, wherever it comes from.
export const found = page => page.evaluate(() => ({
  bad: [...document.querySelectorAll('main :is(img, script, iframe, base, meta, form, style, object, embed, input, b), main a:not([href^="#/"])')].map(e => e.outerHTML.slice(0, 80)),
  raw: /(?![\t\n]|(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|\p{M}{9}/u.exec(document.title + document.body.textContent)?.[0].codePointAt(0).toString(16) ?? '',
  named: /[\u001b\u202e\u200b]/.test([...document.querySelectorAll('[aria-label]')].map(e => e.getAttribute('aria-label')).join('')),
  title: /^(\(\d+\) )?[^()]*.*ralph$/su.test(document.title) && !document.title.startsWith('(99)'),
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
}))
export const clean = { bad: [], raw: '', named: false, title: true, wide: 0 }
