"""Texts that would do harm where anything took them for markup, and pages that are told nothing else."""

import json

HOSTILE = "</script><img src=x onerror=\"window.harmed='yes'\"><b>&amp;</b>"
HOSTILE_FILE = "<img src=x onerror=harmed=1>.jsonl"
QUESTION = "A shopper pushes a 20 kg trolley with 50 N. What is its acceleration?"
HARMED = "window.harmed !== undefined || document.querySelectorAll('img, main script, main iframe, .bubble b').length"
# All that a page is told, but for what it needs to find its way.
TAMPERED = """(() => {
    const hostile = HOSTILE;
    const kept = new Set(['id', 'run', 'state', 'kind', 'role', 'recipe', 'code']);
    const tampered = (told, name) => {
        if (Array.isArray(told)) return told.map((one) => tampered(one, name));
        const fields = ([key, one]) => [key, tampered(one, key)];
        if (told && typeof told === 'object') return Object.fromEntries(Object.entries(told).map(fields));
        return typeof told !== 'string' || kept.has(name) || /^([A-Z_]+|[-\\d.e]+)$/.test(told) ? told : hostile;
    };
    const whole = Response.prototype.json;
    Response.prototype.json = function () { return whole.call(this).then((told) => tampered(told, '')); };
    const parse = JSON.parse;
    JSON.parse = (text) => tampered(parse(text), '');
})()""".replace("HOSTILE", json.dumps(HOSTILE))
