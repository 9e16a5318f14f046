from tests.chart.fixtures import chart_tools as chart_tools
